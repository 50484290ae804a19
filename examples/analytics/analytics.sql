-- Orders of two tenants over a year.
create table orders (
  order_id     integer primary key,
  tenant_id    text not null,
  placed_on    text not null,
  region       text not null,
  channel      text not null,
  amount_minor integer not null,
  currency     text not null
) strict;
create index orders_by_day on orders (tenant_id, placed_on);

insert into orders
with recursive counter (n) as (select 1 union all select n + 1 from counter where n < 4000)
select
  n,
  case n % 3 when 0 then 'tenant-b' else 'tenant-a' end,
  date('2026-01-01', printf('+%d days', n * 7 % 365)),
  case n % 4 when 0 then 'north' when 1 then 'south' when 2 then 'east' else 'west' end,
  case n % 2 when 0 then 'web' else 'shop' end,
  n * 37 % 90000 + 100,
  'EUR'
from counter;
