import t from 'tap'
import { isPublicAddress, whyRefused } from '../../../src/events/webhooks/public-address.ts'

const publicOnly = { allowPrivate: false, allowedHosts: [] }
const alsoPrivate = { allowPrivate: true, allowedHosts: [] }
const addresses = (text: string) => text.trim().split(/\s+/)

t.test('globally reachable addresses are public', async (t) => {
  const reachable = addresses(`
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
    172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
    134744072 0x08080808 010.8.8.8
    2000::1 2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450::1 3ffe::1 [2606:4700::1111]
    2606:4700:0:0:0:0:0:1111 64:ff9b::808:808 64:ff9b::8.8.8.8`)
  for (const address of reachable) t.ok(isPublicAddress(address), address)
})

t.test('private, local, reserved, shared and documentation addresses are not public', async (t) => {
  const others = addresses(`
    0.0.0.0 0.1.2.3 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255 169.254.169.254
    172.16.0.0 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255
    198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    :: ::1 ::2 100::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 4000::1 5f00::1 1fff::1
    2001::1 2001:0:808:808::1 2001:2::1 2001:10::1 2001:20::1 2001:1ff::1 2001:db8::1 3fff::1 2002:7f00:1::1
    2002:808:808::1 64:ff9b:1::808:808 64:ff9b:1::1`)
  for (const address of others) t.notOk(isPublicAddress(address), address)
})

t.test('an IPv4 address embedded in an IPv6 address is checked too', async (t) => {
  const disguised = addresses(`
    ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 ::127.0.0.1 ::8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::7f00:1
    64:ff9b::a9fe:a9fe 64:ff9b::10.0.0.1 64:ff9b::1 64:ff9b:: 64:ff9b:0:0:0:0:c0a8:1`)
  for (const address of disguised) t.notOk(isPublicAddress(address), address)
})

t.test('an address is checked in every spelling', async (t) => {
  const loopback = addresses(`
    127.1 127.0.1 0x7f000001 0x7F.1 2130706433 0177.0.0.1 017700000001 127.0.0.1. [::1] 0:0:0:0:0:0:0:1 0000::0001
    [::ffff:127.0.0.1] 0xa9fea9fe 2852039166 0`)
  for (const address of loopback) t.notOk(isPublicAddress(address), address)
})

t.test('a text that is not an address is not public', async (t) => {
  const odd = [
    '',
    ' ',
    'example.com',
    'dead.beef',
    '8.8.8.8:80',
    '8.8.8.8/24',
    'u@8.8.8.8',
    '8.8.8.8 ',
    '[8.8.8.8]',
  ]
  for (const address of [...odd, '1.2.3.4.5', '256.1.1.1', ':::', '1::2::3', '４.４.４.４'])
    t.notOk(isPublicAddress(address), address)
})

t.test('a URL to which events can be sent is accepted', async (t) => {
  for (const url of [
    'https://example.com',
    'https://hooks.example.com:8443/in?key=1#x',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://локальный.example/',
    'https://localhost.example.com/',
    `https://example.com/${'a'.repeat(1_980)}`,
  ])
    t.equal(whyRefused(url, publicOnly), undefined, url)
})

t.test('a URL is refused with a message that says what to do', async (t) => {
  const cases: [string, RegExp][] = [
    ['', /complete URL/],
    ['example.com/events', /complete URL/],
    ['https://', /complete URL/],
    ['https://exa mple.com/', /complete URL/],
    [' https://example.com/', /complete URL/],
    ['https://example.com/\nx', /complete URL/],
    ['https:\\\\example.com', /complete URL/],
    ['https://256.256.256.256/', /complete URL/],
    ['https://example.com:99999/', /complete URL/],
    ['http://example.com/', /https/],
    ['ftp://example.com/', /https/],
    ['file:///etc/passwd', /https/],
    ['javascript:alert(1)', /https/],
    ['https://user@example.com/', /user name/],
    ['https://:word@example.com/', /user name/],
    [`https://example.com/${'a'.repeat(2_000)}`, /2000 characters/],
  ]
  for (const [url, reason] of cases) t.match(whyRefused(url, publicOnly), reason, url)
})

t.test('a URL into the private network is refused, unless it is allowed', async (t) => {
  for (const url of [
    'https://localhost/',
    'https://LOCALHOST:8443/',
    'https://localhost./',
    'https://a.localhost/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'https://internal/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://127.0.0.1./',
    'https://１２７.0.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://10.1.2.3/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[fd00::1]/',
  ]) {
    t.match(whyRefused(url, publicOnly), /public internet/, url)
    t.equal(whyRefused(url, alsoPrivate), undefined, url)
  }
  t.equal(whyRefused('http://127.0.0.1:8080/', alsoPrivate), undefined)
  t.match(whyRefused('ftp://127.0.0.1/', alsoPrivate), /https/)
  t.match(whyRefused('http://u:p@127.0.0.1/', alsoPrivate), /user name/)
})

t.test('with a list of hosts, only these are allowed, and their private addresses are not', async (t) => {
  const rules = { allowPrivate: false, allowedHosts: ['hooks.example.com', '*.example.org'] }
  for (const url of [
    'https://hooks.example.com:8443/in',
    'https://HOOKS.example.com./',
    'https://a.b.example.org/',
  ])
    t.equal(whyRefused(url, rules), undefined, url)
  for (const url of [
    'https://example.com/',
    'https://a.hooks.example.com/',
    'https://example.org/',
    'https://evilexample.org/',
    'https://hooks.example.com.example.net/',
    'https://example.net/hooks.example.com',
    'https://8.8.8.8/',
  ])
    t.equal(whyRefused(url, rules), 'Give a URL of an allowed host: hooks.example.com, *.example.org.', url)
  t.match(whyRefused('https://a.localhost/', { ...rules, allowedHosts: ['*.localhost'] }), /public internet/)
})
