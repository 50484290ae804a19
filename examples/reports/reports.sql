-- Orders of two companies, with what a spreadsheet would take for a formula.
create table orders (
  order_id     integer primary key,
  tenant_id    text not null,
  placed_on    text not null,
  customer     text not null,
  amount_minor integer not null,
  currency     text not null,
  note         text
) strict;
create index orders_by_day on orders (tenant_id, placed_on);

insert into orders
with recursive counter (n) as (select 1 union all select n + 1 from counter where n < 20000)
select
  9007199254740992 + n,
  case n % 3 when 0 then 'tenant-b' else 'tenant-a' end,
  date('2026-01-01', printf('+%d days', n * 7 % 365)),
  case n % 5 when 0 then 'Ünal, Zoë' when 1 then '=HYPERLINK("http://example.com")' else 'Customer ' || n end,
  n * 37 % 90000 - 500,
  'EUR',
  case n % 4 when 0 then null when 1 then '' else 'call back' end
from counter;
