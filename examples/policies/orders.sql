-- Orders of two tenants.
create table orders (
  order_id     integer primary key,
  tenant_id    text not null,
  customer     text not null,
  placed_on    text not null,
  amount_minor integer not null,
  currency     text not null
) strict;

insert into orders values
  (1, 'tenant-a', 'C-1', '2026-11-01', 1250, 'EUR'),
  (2, 'tenant-a', 'C-2', '2026-11-01', 990, 'EUR'),
  (3, 'tenant-b', 'C-1', '2026-11-01', 77, 'EUR');
