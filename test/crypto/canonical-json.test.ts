import t from 'tap'
import { canonicalJson } from '../../src/crypto/canonical-json.ts'

t.test('the example of RFC 8785 §3.2.2 has the result of the RFC', async (t) => {
  const value = {
    numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27],
    string: '\u20ac$\u000f\nA\'B"\\\\"/',
    literals: [null, true, false],
  }
  t.equal(
    canonicalJson(value),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
})

t.test('members are sorted by UTF-16 code units (§3.2.3), also when they look like numbers', async (t) => {
  const sorted = ['\r', '1', '10', '9', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33']
  const value = Object.fromEntries(sorted.toReversed().map((name) => [name, 0]))
  t.equal(canonicalJson(value), `{${sorted.map((name) => `${JSON.stringify(name)}:0`).join(',')}}`)
})

t.test('undefined members are left out, and different values stay different', async (t) => {
  t.equal(canonicalJson({ b: undefined, a: [undefined, {}] }), '{"a":[null,{}]}')
  t.not(canonicalJson({ a: JSON.parse('1e400') }), canonicalJson({ a: null }))
  t.equal(canonicalJson(null), 'null')
})
