create table people (person_id integer primary key, tenant_id text not null, name text not null, team text, office text) strict;
insert into people values
  (1, 'tenant-a', 'Ada Lovelace', 'engines', 'London'), (2, 'tenant-a', 'Grace Hopper', 'compilers', null),
  (3, 'tenant-b', 'Katherine Johnson', 'orbits', 'Hampton');
