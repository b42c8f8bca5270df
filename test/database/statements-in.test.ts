import t from 'tap'
import { statementsIn } from '../../src/database/cluster/statements-in.ts'

t.test(
  'a text is cut into its statements, not within quotes, comments and bodies of functions',
  async (t) => {
    const text = `-- one; two
    select 'a;''b', "c;d" - 1; -- three;
    do $x$ begin perform 1; end $x$; select $$;$$;
    comment on table roles is 'it''s -- no comment'`
    t.same(statementsIn(text), [
      `select 'a;''b', "c;d" - 1`,
      'do $x$ begin perform 1; end $x$',
      'select $$;$$',
      "comment on table roles is 'it''s -- no comment'",
    ])
  },
)

t.test('each change of a table is a statement of its own, also the check of a new column', async (t) => {
  const text = `alter table roles
    add column kind text not null default 'a, b' check (kind in ('x', 'y')),
    add column note text,
    add constraint short check (f(note, 1) < 5);
    alter table roles add foreign key (tenant_id, id) references notes (tenant_id, id);
    create table notes (id uuid check (id is not null), name text)`
  t.same(
    statementsIn(text).map((statement) => statement.replace(/\s+/g, ' ')),
    [
      "alter table roles add column kind text not null default 'a, b'",
      "alter table roles add constraint roles_kind_check check (kind in ('x', 'y'))",
      'alter table roles add column note text',
      'alter table roles add constraint short check (f(note, 1) < 5)',
      'alter table roles add foreign key (tenant_id, id) references notes (tenant_id, id)',
      'create table notes (id uuid check (id is not null), name text)',
    ],
  )
})
