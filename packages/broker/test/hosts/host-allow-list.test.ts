import { hostMatches } from '@bulkhead/kit/hosts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { HostAllowList } from '../../src/hosts/url-policy.ts'

const covers = (pattern: string, host: string, port = 443): boolean => new HostAllowList([pattern]).covers(host, port)
const refuses = (hosts: readonly string[], address: string, host: string, port = 443): string | undefined =>
  new HostAllowList(hosts).refuses(address, host, port)

describe('the host allow list', () => {
  it('covers nothing that one of its ceilings does not', () => {
    const scope = new HostAllowList(['*', '10.0.0.1:80'], [['*.example.com', '10.0.0.1:80'], ['a.example.com']])
    const hosts = ['a.example.com', 'b.example.com', 'other.test', '10.0.0.1']
    expect(hosts.map((host) => scope.covers(host, host === '10.0.0.1' ? 80 : 443))).toEqual([true, false, false, false])
    expect(scope.refuses('10.0.0.1', '10.0.0.1', 80)).toBe('private')
  })

  it('covers exactly the named hosts', () => {
    expect(covers('api.example.com', 'api.example.com')).toBe(true)
    for (const host of [
      'example.com', 'xapi.example.com', 'a.api.example.com', 'api.example.com.evil.test', 'api.example.co',
    ]) {
      expect(covers('api.example.com', host), host).toBe(false)
    }
  })

  it('covers with *. subdomains at any depth, but not the name itself', () => {
    for (const host of ['a.example.com', 'a.b.example.com']) expect(covers('*.example.com', host), host).toBe(true)
    for (const host of ['example.com', 'evilexample.com', '.example.com', 'a.example.com.evil.test']) {
      expect(covers('*.example.com', host), host).toBe(false)
    }
  })

  it('covers with * every name with public addresses, but no literal address', () => {
    const scope = new HostAllowList(['*'])
    expect(scope.covers('anything.example', 443)).toBe(true)
    expect(scope.covers('anything.example', 8080)).toBe(false)
    expect(scope.covers('127.0.0.1', 80)).toBe(false)
    expect(scope.covers('localhost', 80)).toBe(true)
    expect(scope.refuses('127.0.0.1', 'localhost', 80)).toBe('loopback')
    expect(scope.refuses('10.0.0.1', 'anything.example', 443)).toBe('private')
    expect(new HostAllowList(['*.*']).covers('a.b', 443)).toBe(false)
  })

  it('covers ports 80 and 443, or the one port that is named', () => {
    expect([80, 443].every((port) => covers('a.test', 'a.test', port))).toBe(true)
    expect([1, 22, 8080, 8443].some((port) => covers('a.test', 'a.test', port))).toBe(false)
    expect(covers('a.test:8443', 'a.test', 8443)).toBe(true)
    expect([80, 443, 844].some((port) => covers('a.test:8443', 'a.test', port))).toBe(false)
    expect(covers('*.a.test:8443', 'x.a.test', 8443)).toBe(true)
  })

  it('never matches an address as a subdomain', () => {
    expect(covers('*.0.0.1', '127.0.0.1')).toBe(false)
    expect(covers('*.1', '127.0.0.1')).toBe(false)
    expect(covers('*.127.0.0.1', '127.0.0.1')).toBe(false)
  })

  it('matches an address in every spelling', () => {
    expect(covers('[::1]:8080', '::1', 8080)).toBe(true)
    expect(covers('[0:0:0:0:0:0:0:1]', '::1')).toBe(true)
    expect(covers('[::1]', '::2')).toBe(false)
    expect(covers('127.0.0.1', '::ffff:7f00:1')).toBe(true)
  })

  it('covers nothing for an invalid pattern', () => {
    const odd = ['', '*.', 'a*.test', '*.*.test', 'a.test:', 'a.test:x', 'a.test:123456', '[::1', '::1', 'a:80:80']
    for (const pattern of odd) {
      expect(covers(pattern, 'a.test'), pattern).toBe(false)
      expect(covers(pattern, '::1'), pattern).toBe(false)
    }
  })

  it('never covers more than hostMatches', () => {
    const label = fc.constantFrom('a', 'b', 'api', 'example', 'test', '1', '127')
    const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'))
    const port = fc.constantFrom(80, 443, 8080)
    const pattern = fc.tuple(fc.constantFrom('', '*.'), name, fc.option(port, { nil: undefined }))
      .map(([below, host, at]) => `${below}${host}${at === undefined ? '' : `:${at}`}`)
    fc.assert(fc.property(fc.array(pattern, { maxLength: 4 }), name, port, (patterns, host, at) => {
      if (new HostAllowList(patterns).covers(host, at)) expect(hostMatches(patterns, `${host}:${at}`)).toBe(true)
    }), { numRuns: thoroughly(1_000, 5_000) })
  })
})

describe('addresses of an allowed host', () => {
  it('may be any public address', () => {
    expect(refuses(['a.test'], '93.184.216.34', 'a.test')).toBeUndefined()
    expect(refuses(['*.a.test'], '2606:4700::1111', 'x.a.test')).toBeUndefined()
  })

  it.each([
    '127.0.0.1', '10.0.0.1', '169.254.169.254', '100.64.0.1', '::1', 'fd00:ec2::254', '::ffff:10.0.0.1',
  ])('may not be %s unless the grant lists the address', (address) => {
    for (const host of ['a.test', '*.test', 'a.test:443']) expect(refuses([host], address, 'a.test'), host)
      .toBeDefined()
  })

  it('may be an address that the grant lists with this port', () => {
    expect(refuses(['a.test', '10.0.0.1'], '10.0.0.1', 'a.test')).toBeUndefined()
    expect(refuses(['a.test', '10.0.0.1'], '10.0.0.2', 'a.test')).toBe('private')
    expect(refuses(['a.test', '10.0.0.1:8080'], '10.0.0.1', 'a.test')).toBe('private')
    expect(refuses(['127.0.0.1:8080'], '127.0.0.1', '127.0.0.1', 8080)).toBeUndefined()
    expect(refuses(['169.254.169.254'], '169.254.169.254', '169.254.169.254', 80)).toBeUndefined()
  })

  it('may be loopback for localhost if it is listed exactly', () => {
    expect(refuses(['localhost:8080'], '127.0.0.1', 'localhost', 8080)).toBeUndefined()
    expect(refuses(['localhost:8080'], '::1', 'localhost', 8080)).toBeUndefined()
    expect(refuses(['app.localhost'], '127.0.0.1', 'app.localhost')).toBeUndefined()
    expect(refuses(['localhost:8080'], '10.0.0.1', 'localhost', 8080)).toBe('private')
    expect(refuses(['localhost:8080'], '127.0.0.1', 'localhost', 8081)).toBe('loopback')
    expect(refuses(['*.localhost'], '127.0.0.1', 'app.localhost')).toBe('loopback')
    expect(refuses(['*.localhost'], '127.0.0.1', 'localhost')).toBe('loopback')
    expect(refuses(['*.127.0.0.1'], '127.0.0.1', 'a.test')).toBe('loopback')
    expect(refuses(['localhost'], '127.0.0.1', 'other.test')).toBe('loopback')
  })

  it('are never admitted if they are unspecified, multicast or invalid', () => {
    expect(refuses(['0.0.0.0'], '0.0.0.0', '0.0.0.0')).toBe('unspecified')
    expect(refuses(['224.0.0.1'], '224.0.0.1', '224.0.0.1')).toBe('multicast')
    expect(refuses(['255.255.255.255'], '255.255.255.255', '255.255.255.255')).toBe('broadcast')
    expect(refuses(['a.test'], 'fe80::1%lo', 'a.test')).toBe('unreadable')
  })
})
