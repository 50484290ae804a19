-- The billing database of `callgate demo` and `callgate init`: three tenants and some thousand invoices, with
-- the awkward data that real systems have. Everything is derived from row numbers, so each copy is the same.
create table customers (
  customer_id integer primary key,          -- beyond 2^53, where a double would lose the last digits
  tenant_id   text not null,
  name        text not null,
  country     text,                         -- unknown for some
  unique (tenant_id, name)
) strict;

create table invoices (
  invoice_id   integer primary key,
  tenant_id    text not null,
  reference    text not null,
  customer_id  integer not null references customers (customer_id),
  status       text not null check (status in ('open', 'overdue', 'paid')),
  currency     text not null,
  amount_minor integer not null,
  issued_on    text not null,
  due_on       text not null,
  note         text,                        -- null for most
  unique (tenant_id, reference)
) strict;
create index invoices_by_due on invoices (tenant_id, status, due_on desc, reference);

create temp table tenants (position integer primary key, tenant_id text not null, prefix text not null);
insert into tenants values (0, 'tenant-a', 'A'), (1, 'tenant-b', 'B'), (2, 'tenant-c', 'C');

create temp table names (position integer primary key, name text not null, country text);
insert into names values
  (0, 'Nordwind Logistik GmbH', 'DE'), (1, 'Café Évasion SARL', 'FR'), (2, '株式会社さくら商事', 'JP'),
  (3, 'O''Hara & Sons "Import"', 'IE'), (4, 'Ångström Energi AB', 'SE'), (5, 'شرکت آفتاب می‌درخشد', 'IR'),
  (6, 'Łódzkie Zakłady Sp. z o.o.', 'PL'), (7, 'Green 🌱 Farms Ltd', 'GB'), (8, 'Null, Inc.', null),
  (9, 'Dış Ticaret A.Ş.', 'TR'), (10, 'ООО «Ромашка»', null), (11, 'Zażółć; DROP TABLE customers;--', 'PL');

insert into customers
select 9007199254740993 + tenants.position * 1000 + names.position * 2, tenants.tenant_id, names.name, names.country
from tenants, names;

insert into invoices
with recursive counter (n) as (select 0 union all select n + 1 from counter where n < 1199)
select
  tenants.position * 100000 + n + 1,
  tenants.tenant_id,
  printf('%s-2026-%05d', tenants.prefix, n + 1),
  9007199254740993 + tenants.position * 1000 + (n * 7 % 12) * 2,
  case n % 5 when 0 then 'overdue' when 1 then 'open' when 2 then 'open' else 'paid' end,
  case n % 4 when 0 then 'EUR' when 1 then 'USD' when 2 then 'JPY' else 'GBP' end,
  case when n % 401 = 0 then 9007199254740993 + n when n % 97 = 0 then -(n * 31 + 5) else (n * 7919 % 250000) + 99 end,
  date('2026-01-01', printf('+%d days', n * 13 % 300)),
  date('2026-01-01', printf('+%d days', n * 13 % 300 + 30)),
  case n % 20
    when 3 then 'Zahlbar in 30 Tagen – danke!' when 7 then 'line one' || char(10) || 'line two'
    when 11 then 'contains "quotes" and \backslashes\' when 19 then '请尽快付款' end
from tenants, counter;
