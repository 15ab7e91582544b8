import { describe, expect, it } from 'vitest'
import { HostAllowList, checkUrl, type Target } from '../../src/hosts/url-policy.ts'
import { secretsCapability } from '../../src/secrets/secrets.ts'
import { UsedSecrets } from '../../src/secrets/vault.ts'
import { callOf, codeOf, handleOf, SECRET, vaultOf } from './setup.ts'

const HOSTS = ['api.example.com', '*.example.com', 'other.example', 'api.example.com:8443', '127.0.0.1', 'localhost']
const target = (url: string): Target => checkUrl(url, new HostAllowList(HOSTS))
const headers = (value: string): ReadonlyMap<string, string> => new Map([['accept', '*/*'], ['authorization', value]])

describe('a handle', () => {
  it('is unique per secret and call, and independent of the value', async () => {
    const [vault, call, other] = [vaultOf({ TOKEN: {}, KEY: {} }), callOf({}), callOf({})]
    const handle = await handleOf(vault, call)
    expect(await handleOf(vault, call)).toBe(handle)
    expect(new Set([handle, await handleOf(vault, call, 'KEY'), await handleOf(vault, other)]).size).toBe(3)
    expect(handle).not.toContain(SECRET)
  })

  it('is given for a declared secret with a usable value', async () => {
    const vault = vaultOf({
      UNSET: { value: undefined }, EMPTY: { value: '' }, SHORT: { value: '1234567' },
      LONG: { value: 'x'.repeat(4_097) },
      HALF: { value: '12345678\ud800' },
    })
    const codes = await Promise.all(['UNSET', 'EMPTY', 'SHORT', 'LONG', 'HALF', 'OTHER', '__proto__', 5].map((name) =>
      codeOf((async () => handleOf(vault, callOf({}), name))())))
    expect(codes).toEqual([
      'EnvNameNotSet', 'EnvNameNotSet', 'CapabilityUnavailable', 'CapabilityUnavailable', 'CapabilityUnavailable',
      'EnvNameUndeclared', 'EnvNameUndeclared', 'InputInvalid',
    ])
  })

  it('is given for values of the shortest and longest length, which are redacted', async () => {
    const values = ['12345678', 'x'.repeat(4_096)]
    const own = { commands: ['gh'] }
    const vault = vaultOf({
      SHORT: { value: values[0], ...own }, LONG: { value: values[1], ...own }, SHORTER: { value: '7654321', ...own },
      EMPTY: { value: '', ...own },
    })
    const call = callOf({})
    const secrets = vault.of(call.callId)
    for (const name of ['SHORT', 'LONG']) secrets.inText(await handleOf(vault, call, name), 'gh')
    expect(secrets.vault.redactionOfCommands(['gh'])!.text(`${values.join(' ')} 7654321`))
      .toBe('[REDACTED] [REDACTED] 7654321')
  })

  it('causes redaction of its value, in responses of its hosts and commands, after its first use', async () => {
    const vault = vaultOf({ TOKEN: { hosts: ['api.example.com'], commands: ['gh'] } })
    const call = callOf({})
    const secrets = vault.of(call.callId)
    const [own, other] = [target('https://api.example.com/'), target('https://other.example/')]
    const ofOwn = secrets.vault.redactionOf([own])!
    const handle = await handleOf(vault, call)
    expect(() => secrets.inText(handle, 'sh')).toThrow('may not be given')
    expect(ofOwn.text(SECRET)).toBe(SECRET)
    secrets.inText(handle, 'gh')
    expect(ofOwn.text(SECRET)).toBe('[REDACTED]')
    expect(secrets.vault.redactionOf([other, own])!.text(SECRET)).toBe('[REDACTED]')
    expect(secrets.vault.redactionOfCommands(['cat', 'gh'])!.text(SECRET)).toBe('[REDACTED]')
    expect([secrets.vault.redactionOf([other]), secrets.vault.redactionOfCommands(['cat'])])
      .toEqual([undefined, undefined])
  })

  it('counts as used for all compartments of its extension, and for no other extension', async () => {
    const used = new UsedSecrets()
    const grants = new Map([['TOKEN', { value: SECRET, hosts: [], commands: ['gh'] }]])
    const [first, next, foreign] = ['mine', 'mine', 'other'].map((id) => secretsCapability(grants, used.of(id)))
    const call = callOf({})
    first!.of(call.callId).inText(await handleOf(first!, call), 'gh')
    const shown = [next!, foreign!].map((one) => one.of('later').vault.redactionOfCommands(['gh'])!.text(SECRET))
    expect(shown).toEqual(['[REDACTED]', SECRET])
  })

  it('is replaced by the value in requests to its hosts over https', async () => {
    const [vault, call] = [vaultOf({ TOKEN: { hosts: ['api.example.com'] } }), callOf({})]
    const given = headers(`Bearer ${await handleOf(vault, call)}`)
    const sent = vault.of(call.callId).inHeaders(given, target('https://api.example.com/x'))
    expect([...sent]).toEqual([['accept', '*/*'], ['authorization', `Bearer ${SECRET}`]])
    const denied = expect.objectContaining({ code: 'CapabilityDenied' }) as Error
    for (const host of ['other.example', 'www.example.com', 'api.example.com:8443', '127.0.0.1']) {
      expect(() => vault.of(call.callId).inHeaders(given, target(`https://${host}`)), host).toThrow(denied)
    }
    expect(() => vault.of(call.callId).inHeaders(given, target('http://api.example.com'))).toThrow(denied)
  })

  it('is replaced over http only for this machine', async () => {
    const [vault, call] = [vaultOf({ TOKEN: { hosts: ['127.0.0.1', 'localhost', 'other.example'] } }), callOf({})]
    const given = headers(await handleOf(vault, call))
    for (const url of ['http://127.0.0.1/', 'http://localhost/']) {
      expect(vault.of(call.callId).inHeaders(given, target(url)).get('authorization')).toBe(SECRET)
    }
    expect(() => vault.of(call.callId).inHeaders(given, target('http://other.example'))).toThrow('over http')
  })

  it('is replaced by the value in arguments and input of its commands', async () => {
    const [vault, call] = [vaultOf({ TOKEN: { commands: ['gh', 'git'] } }), callOf({})]
    const handle = await handleOf(vault, call)
    expect(vault.of(call.callId).inText(`--token=${handle}`, 'gh')).toBe(`--token=${SECRET}`)
    expect(() => vault.of(call.callId).inText(handle, 'sh'))
      .toThrow(expect.objectContaining({ code: 'CapabilityDenied' }))
    expect(() => vault.of(call.callId).inHeaders(headers(handle), target('https://api.example.com')))
      .toThrow('may not be sent')
  })

  it('is invalid in another call and after its own', async () => {
    const [vault, call, other] = [vaultOf({ TOKEN: { commands: ['gh'] } }), callOf({}), callOf({})]
    const handle = await handleOf(vault, call)
    expect(() => vault.of(other.callId).inText(handle, 'gh')).toThrow('unknown in this call')
    vault.endCall(call.callId)
    expect(() => vault.of(call.callId).inText(handle, 'gh')).toThrow('unknown in this call')
    const again = await handleOf(vault, call)
    await vault.close()
    expect(() => vault.of(call.callId).inText(again, 'gh')).toThrow('unknown in this call')
  })

  it('is rejected where a header or argument cannot carry the value', async () => {
    const vault = vaultOf({
      LINES: { value: 'first line\r\nx: y', hosts: ['api.example.com'] },
      NUL: { value: 'abcdefgh\0', commands: ['gh'] },
    })
    const call = callOf({})
    const lines = headers(await handleOf(vault, call, 'LINES'))
    expect(() => vault.of(call.callId).inHeaders(lines, target('https://api.example.com')))
      .toThrow('a header cannot carry')
    const nul = await handleOf(vault, call, 'NUL')
    expect(() => vault.of(call.callId).inText(nul, 'gh')).toThrow('an argument cannot carry')
  })
})
