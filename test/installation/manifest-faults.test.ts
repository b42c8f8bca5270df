import t from 'tap'
import { openOperator } from './operator.ts'

const { cli, written } = await openOperator(t)

t.test('an entry with a fault hides no other fault, and what names it is no fault of its own', async (t) => {
  const { said } = await cli(
    'manifest:diff',
    '--file',
    written(`{
  "application": "cargo", "name": "Cargo",
  "resource_types": { "crate": { "actions": {} } },
  "attributes": { "resource.weight": { "data_type": "heavy" } },
  "roles": { "loader": { "name": "Loader", "permissions": "crate:lift" } },
  "policies": {
    "p": { "name": "P", "effect": "allow", "actions": ["crate:lift", "barrel:roll"], "subjects": { "roles": ["Loader", "Cook"] },
      "conditions": { "all": [{ "attribute": "resource.weight", "operator": "lt", "value": 9 }, { "attribute": "resource.wieght", "operator": "exists" }] } },
    "q": { "name": "Q", "effect": "allow", "actions": ["barrel:roll"], "priorty": 3 }
  }
}`),
  )
  t.same(
    said.match(/(?<= {2})\/\S+ {2}\w+/g),
    [
      '/resource_types/crate/description  required',
      '/attributes/resource.weight/data_type  invalid',
      '/roles/loader/permissions  invalid',
      '/policies/p/actions/1  unknown_resource_type',
      '/policies/p/subjects/roles/1  unknown_role',
      '/policies/p/conditions/all/1/attribute  unknown_attribute',
      '/policies/q/actions/0  unknown_resource_type',
      '/policies/q/priorty  unknown_member',
    ],
    said,
  )
})
