-- Support tickets of two companies. The server makes the table for the keys of effects: `callgate migrate`.
create table ticket (
    reference text primary key,
    tenant_id text not null,
    subject   text not null,
    state     text not null default 'open' check (state in ('open', 'closed')),
    version   integer not null default 1,
    opened_by text not null
) strict;

insert into ticket (reference, tenant_id, subject, state, opened_by) values
    ('T-1', 'acme', 'Printer on floor 2', 'open', 'robin'),
    ('T-2', 'acme', 'Invoice is wrong', 'closed', 'robin'),
    ('T-3', 'globex', 'Printer on floor 9', 'open', 'sam');
