import t from 'tap'
import { readTable } from '../../packages/console/invitations/read-rows.ts'

const known = { roles: ['member', 'admin'], departments: [{ id: 'd1', name: 'Finance' }] }
const read = (...lines: string[]) => readTable(lines.join('\n'), known)

t.test('columns come in their usual order, or in that of the titles', async (t) => {
  const row = { email: 'mira@example.com', roles: ['admin'], departmentId: 'd1', faults: [] }
  t.match(read('mira@example.com, admin, Finance'), { titles: null, faults: [], rows: [row] })
  t.match(read('E-mail\tRole\tDepartment', 'mira@example.com\tadmin\tFinance'), { faults: [], rows: [row] })
  t.match(read('Department;Address;Roles', 'Finance;mira@example.com;admin'), {
    titles: 'Department;Address;Roles',
    faults: [],
    rows: [row],
  })
  t.match(read('Address', 'mira@example.com'), {
    faults: [],
    rows: [{ roles: ['member'], departmentId: null, externalId: null }],
  })
  t.match(read('ID,Address', 'emp-7,mira@example.com'), {
    faults: [],
    rows: [{ email: 'mira@example.com', externalId: 'emp-7' }],
  })
})

t.test('unknown, doubled and missing columns are faults of the table, with the nearest', async (t) => {
  const row = 'mira@example.com, Finance, admin'
  t.same(read('address, departmnet, roles', row).faults, [
    'There is no column departmnet. Did you mean department?',
  ])
  t.same(read('address, phone', row).faults, [
    'There is no column phone. The columns are address, roles, department and ID.',
  ])
  t.same(read('address, role, roles', row).faults, ['The column roles is in the table twice.'])
  t.same(read('role, department', row).faults, ['The table has no column address.'])
  t.same(read('adress, roles', row).faults, [
    'There is no column adress. Did you mean address?',
    'The table has no column address.',
  ])
})

t.test('a first line that is neither titles nor an address is a row with a fault', async (t) => {
  const { titles, rows } = read('mira.example.com, admin', 'ada@example.com')
  t.equal(titles, null)
  t.match(rows, [{ line: 'mira.example.com, admin', faults: ['This is no e-mail address.'] }, { faults: [] }])
})

t.test('a cell beyond the columns is a fault', async (t) => {
  t.same(read('mira@example.com, admin, Finance, London').rows[0]!.faults, [
    'This line has more than 3 columns.',
  ])
  t.same(read('mira@example.com, admin, Finance, ').rows[0]!.faults, [])
  t.same(read('', ' ').rows, [])
})
