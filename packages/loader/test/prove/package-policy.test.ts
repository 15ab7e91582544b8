import type { ConfigFile } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { mergeLayers } from '../../src/config/merge-layers.ts'
import { packagePolicy } from '../../src/prove/check-package.ts'
import { HomeFixture } from '../home-fixture.ts'

const policyOf = (
  policy: ConfigFile['policy'], id = 'acme-weather', source = 'npm:@acme/weather@1.0.0', part = 'installed/x',
) => packagePolicy({
  config: { merged: { ...(policy && { policy }) }, layers: [] },
  locks: new Map([['global', { kind: 'deciding', source, attested: null }]]),
}, { layer: 'global', part, outline: { id } })

describe('the narrowest setting applies', () => {
  const scopes = {
    '@acme': { signature: 'require', widening: 'refuse' }, 'acme-*': { signature: 'warn' },
    'acme-w*': { integrity: 'require' }, 'acme-weather': { lock: 'off' },
  } as const
  test.each([
    ['no setting', {}, { integrity: undefined, signature: undefined, lock: 'warn', widening: 'major', pin: undefined }],
    ['the layer', { signature: { global: 'off' } }, { signature: 'off' }],
    [
      'all settings', { signature: { global: 'off' }, scopes },
      { integrity: 'require', signature: 'warn', lock: 'off', widening: 'refuse' },
    ],
    [
      'pins', { identities: { '@acme': { issuer: 'scope' }, 'acme-*': { issuer: 'prefix' } } },
      { pin: { issuer: 'prefix' } },
    ],
    [
      'an id over all others', { identities: { 'acme-weather': { issuer: 'id' }, 'acme-*': { issuer: 'prefix' } } },
      { pin: { issuer: 'id' } },
    ],
  ] as const)('the applied setting is the narrowest: %s', (_, policy, expected) =>
    expect(policyOf(policy as ConfigFile['policy'])).toMatchObject(expected))

  test('takes the scope from the installed package, not from a similar name', () => {
    expect(policyOf({ scopes }, 'weather', 'npm:@evil/weather@1.0.0')).toMatchObject({
      signature: undefined, widening: 'major',
    })
    expect(policyOf({ scopes }, 'weather', 'folder:@acme')).toMatchObject({ signature: undefined })
    expect(policyOf({ scopes }, 'acmeweather')).toMatchObject({ integrity: undefined, signature: 'require' })
    expect(policyOf({ scopes }, 'weather', 'folder:x', 'node_modules/@acme/weather')).toMatchObject({
      signature: 'require',
    })
    expect(policyOf({ scopes }, 'weather', 'npm:@acme/weather@1.0.0', 'node_modules/@evil/weather')).toMatchObject({
      signature: undefined,
    })
  })
})

describe('a narrower key of a project does not undo a policy of the user:', () => {
  const bound = (user: ConfigFile['policy'], project: ConfigFile['policy']) => {
    const layers = (['global', 'project'] as const).map((layer, index) =>
      ({ layer, location: layer, config: { policy: [user, project][index] } }))
    return packagePolicy({
      config: { merged: mergeLayers(layers), layers },
      locks: new Map([['global', { kind: 'deciding', source: 'npm:@acme/weather@1.0.0', attested: null }]]),
    }, { layer: 'global', part: 'installed/x', outline: { id: 'acme-weather' } })
  }
  test.each<[string, ConfigFile['policy'], ConfigFile['policy'], object]>([
    [
      'a level', { signature: { global: 'require' } }, { scopes: { 'acme*': { signature: 'off' } } },
      { signature: 'require' },
    ],
    [
      'a lock', { scopes: { 'acme*': { lock: 'require' } } }, { scopes: { 'acme-weather': { lock: 'off' } } },
      { lock: 'require' },
    ],
    [
      'an update', { update: { widening: 'refuse' } }, { scopes: { 'acme*': { widening: 'consent' } } },
      { widening: 'refuse' },
    ],
    [
      'a signer', { identities: { 'acme*': { issuer: 'user' } } },
      { identities: { 'acme-weather': { issuer: 'project' } } },
      { pin: { issuer: 'user' } },
    ],
  ])('the policy of the user applies to %s', (_, user, project, expected) => {
    expect(bound(user, project)).toMatchObject(expected)
    expect(bound(undefined, project)).not.toMatchObject(expected)
  })
})

describe('in a configuration', () => {
  const load = async (policy: unknown) => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    home.write(`${home.globalRoot}/config.json`, { policy })
    const { extensions, diagnostics } = await home.loadAsItIs()
    return [extensions.length, diagnostics.map(({ code }) => code)]
  }

  test('a package can have a stricter or a looser policy', async () => {
    expect(await load({ scopes: { 'wea*': { signature: 'require' } } })).toEqual([0, ['SignatureInvalid']])
    expect(await load({ signature: { global: 'require' }, scopes: { weather: { signature: 'off', lock: 'off' } } }))
      .toEqual([1, []])
  })

  test('replaces an unreadable scope by the strictest, and reports an unknown key', async () => {
    expect(await load({ scopes: { weather: { signature: 'perhaps' } } })).toEqual([
      0, ['ConfigInvalid', 'IntegrityTokenMissing'],
    ])
    expect(await load({ scopes: { 'We*ther': { signature: 'off' } } })).toEqual([
      1, ['ConfigInvalid', 'IntegrityTokenMissing'],
    ])
    expect(await load({ lock: { global: 'perhaps' } })).toEqual([0, ['ConfigInvalid', 'IntegrityTokenMissing']])
  })
})
