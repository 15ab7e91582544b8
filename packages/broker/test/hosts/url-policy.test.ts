import { BulkheadError } from '@bulkhead/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { anyCodePoint } from '../../../kit/test/samples/text.ts'
import { HostAllowList, checkUrl, requireAllowedAddress } from '../../src/hosts/url-policy.ts'

const HOSTS = [
  'api.example.com', '*.wide.test', 'local.test:8080', 'xn--bcher-kva.example', '127.0.0.1:9000', '0.0.0.0',
]
const scope = new HostAllowList(HOSTS)

const verdict = (text: string): string => {
  try {
    const { url, host, port } = checkUrl(text, scope)
    return `${host} ${port} ${url.href}`
  } catch (error) {
    if (!BulkheadError.is(error)) throw error
    return error.code
  }
}

describe('the URL policy', () => {
  it.each([
    ['http://api.example.com', 'api.example.com 80 http://api.example.com/'],
    ['https://api.example.com/a?b=c#d', 'api.example.com 443 https://api.example.com/a?b=c'],
    ['HTTPS://API.Example.COM:443/', 'api.example.com 443 https://api.example.com/'],
    ['https://api.example.com./', 'api.example.com 443 https://api.example.com/'],
    ['https://a.b.wide.test/', 'a.b.wide.test 443 https://a.b.wide.test/'],
    ['https://ａpi.example.com/', 'api.example.com 443 https://api.example.com/'],
    ['http://local.test:8080/', 'local.test 8080 http://local.test:8080/'],
    ['https://bücher.example/', 'xn--bcher-kva.example 443 https://xn--bcher-kva.example/'],
    ['http://127.0.0.1:9000/', '127.0.0.1 9000 http://127.0.0.1:9000/'],
    // Other spellings of a listed address.
    ['http://2130706433:9000/', '127.0.0.1 9000 http://127.0.0.1:9000/'],
  ])('accepts %s', (text, expected) => expect(verdict(text)).toBe(expected))

  it.each([
    // Schemes.
    'file:///etc/passwd', 'ftp://api.example.com/', 'data:text/plain,x', 'blob:https://api.example.com/x',
    'javascript:alert(1)',
    'ws://api.example.com/', 'unix:/run/docker.sock',
    // Credentials before the host.
    'https://user@api.example.com/', 'https://user:password@api.example.com/', 'https://:x@api.example.com/',
    'https://api.example.com@evil.test/', 'https://api.example.com%2f@evil.test/',
    'https://api.example.com:443@evil.test/', 'https://a@b@api.example.com/',
    // Names that look similar.
    'https://evil.test/', 'https://evilapi.example.com/', 'https://api.example.com.evil.test/', 'https://example.com/',
    'https://wide.test/', 'https://evil.test#api.example.com',
    'https://evil.test/api.example.com', 'https://evil.test?api.example.com', 'https://api。example。com.evil.test/',
    // Ports.
    'https://api.example.com:8443/', 'http://api.example.com:22/', 'http://api.example.com:0/', 'http://local.test/',
    'https://local.test:8081/', 'http://127.0.0.1/', 'http://127.0.0.1:9001/',
    // This machine and its network, in every spelling.
    'http://localhost/', 'http://localhost./', 'http://127.0.0.2:9000/', 'http://127.1/', 'http://2130706433/',
    'http://0x7f000001/', 'http://0177.0.0.1/', 'http://0x7f.0.0.1/', 'http://017700000001/',
    'http://127.0.0.1./', 'http://１２７．０．０．１/', 'http://[::1]/',
    'http://[::ffff:127.0.0.1]/', 'http://[::ffff:7f00:1]/',
    'http://[::127.0.0.1]:9000/', 'http://[64:ff9b::7f00:1]:9000/', 'http://[::]/',
    'http://0/', 'http://0.0.0.0/', 'http://169.254.169.254/latest/meta-data/', 'http://0xA9FEA9FE/',
    'http://2852039166/',
    'http://[fd00:ec2::254]/', 'http://metadata.google.internal/', 'http://10.0.0.1/',
  ])('denies %s', (text) => expect(verdict(text)).toBe('CapabilityDenied'))

  it.each([
    '', 'api.example.com', '/path', 'https:api.example.com/https://api.example.com/', '//api.example.com/',
    'https:api.example.com', 'https:/api.example.com/',
    'https:///api.example.com/', 'https://', 'https://api.example.com:99999/',
    'https://api.example.com:80:80/', 'https://api.example.com\0.evil.test/', 'https://evil.test\0.api.example.com/',
    'https://api.example.com%00.evil.test/', ' https://api.example.com/',
    'https://api.example.com/ ', 'https://api.exa mple.com/', 'https://api.exa\tmple.com/',
    'https://api.exam\nple.com/',
    'https://api.example.com\\@evil.test/', 'https:\\\\api.example.com/',
    'https://api.example.com/\r\nhost: evil.test', 'https://api.exam\u200bple.com/', 'https://api.exam\u00adple.com/',
    'https://api.example.com/\ud800', 'https://a..wide.test/', 'https://.wide.test/',
    'https://wide.test../', 'https://-a.wide.test/', 'https://a!b.wide.test/', 'https://*.wide.test/',
    'http://256.256.256.256/',
    'http://[::1%25lo]/', 'http://[fe80::1%eth0]/', 'http://1.2.3.4.5/',
    `https://api.example.com/${'x'.repeat(8_192)}`, `https://${'a'.repeat(64)}.wide.test/`,
    `https://${'a.'.repeat(124)}wide.test/`,
  ])('rejects %j as invalid', (text) => expect(verdict(text)).toBe('InputInvalid'))

  it('accepts the longest allowed URL', () => {
    const long = `https://api.example.com/${'x'.repeat(8_192)}`
    expect([verdict(long.slice(0, 8_192)), verdict(long.slice(0, 8_193))])
      .toEqual([expect.stringContaining('xxx'), 'InputInvalid'])
    const name = `${'a.'.repeat(122)}wide.test`
    expect([verdict(`https://${name}/`), verdict(`https://b${name}/`)])
      .toEqual([expect.stringContaining(name), 'InputInvalid'])
  })

  it('never accepts a host or port outside the grant, and rejects with two codes only', () => {
    const part = fc.constantFrom(
      'http://', 'https://', 'file://', '//', '/', '\\', '@', ':', '#', '?', '.', '..', '%2e', '%00', '[', ']', '::1',
      '127.0.0.1',
      '0x7f000001', 'localhost', 'api.example.com', 'wide.test', 'x.wide.test', 'evil.test', 'local.test', '8080',
      '443', '80',
      '9000',
      'user', ' ', '\t', '\0', '。', '\u200b', '１',
    )
    const parts = fc.array(part, { maxLength: 10 }).map((chosen) => chosen.join(''))
    // fast-check takes a second to prepare the paths of its URLs, and the policy is about what is before them.
    const withoutPath = (): fc.Arbitrary<string> => fc.tuple(fc.constantFrom('http', 'https'), fc.webAuthority())
      .map(([scheme, authority]) => `${scheme}://${authority}/`)
    const url = thoroughly(withoutPath, () => fc.webUrl())()
    const text = fc.oneof(parts, url, fc.string({ unit: anyCodePoint }))
    fc.assert(fc.property(text, (given) => {
      const result = verdict(given)
      if (['CapabilityDenied', 'InputInvalid'].includes(result)) return
      const [host = '', port, href = ''] = result.split(' ')
      const { hostname, protocol, port: own } = new URL(href)
      expect(hostname).toBe(host)
      expect(own === '' ? (protocol === 'https:' ? '443' : '80') : own).toBe(port)
      const granted = ['api.example.com 80', 'api.example.com 443', 'local.test 8080', '127.0.0.1 9000']
      expect(granted.includes(`${host} ${port}`) || /^[^ ]+\.wide\.test (?:80|443)$/.test(`${host} ${port}`), result)
        .toBe(true)
    }), { numRuns: thoroughly(500, 10_000) })
  })

  it('gives a remedy and does not disclose the address of a name', () => {
    expect(() => checkUrl('https://evil.test/', scope))
      .toThrow('The tool may not reach the host evil.test:443. Declare it in `requires.net.hosts`')
    expect(() => checkUrl('http://0.0.0.0/', scope))
      .toThrow('0.0.0.0:80 is an address that is not public (unspecified).')
    expect(() => checkUrl('http://[::1]/', scope)).toThrow('The tool may not reach the host [::1]:80.')
    expect(() => requireAllowedAddress('10.0.0.1', 'api.example.com', 443, scope))
      .toThrow('The host api.example.com:443 has an address that is not public (private).')
    expect(() => requireAllowedAddress('93.184.216.34', 'localhost', 80, scope))
      .toThrow('The host localhost:80 does not resolve to this machine. Use another host.')
  })
})
