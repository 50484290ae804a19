create table payouts (payout_id integer primary key, tenant_id text not null, month text not null, iban text not null, holder_email text, amount_minor integer not null, currency text not null) strict;
insert into payouts values
  (1, 'tenant-a', '2026-11', 'DE02120300000000202051', 'zoe@example.com', 125000, 'EUR'),
  (2, 'tenant-a', '2026-11', 'FR1420041010050500013M02606', null, 990, 'EUR'),
  (3, 'tenant-b', '2026-11', 'GB33BUKB20201555555555', 'kim@example.com', 70000, 'GBP');
