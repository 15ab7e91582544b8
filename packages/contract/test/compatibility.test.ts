import { describe, expect, it } from 'vitest'
import { contractCompatible, coreSatisfies } from '../src/validation/manifest.ts'
import { CONTRACT_VERSION } from '../src/model/names.ts'

describe('contract versions', () => {
  it('the current version is 1.0.0', () => {
    expect(CONTRACT_VERSION).toBe('1.0.0')
    expect(contractCompatible('1.0.0')).toBe(true)
  })

  it.each<[string, string, string, boolean]>([
    ['the same', '1.2.3', '1.2.3', true],
    ['an older minor on a newer host', '1.0.0', '1.4.0', true],
    ['a newer minor on an older host', '1.5.0', '1.4.9', false],
    ['an older patch', '1.2.0', '1.2.9', true],
    ['a newer patch', '1.2.9', '1.2.0', true],
    ['an older major', '1.9.9', '2.0.0', false],
    ['a newer major', '2.0.0', '1.9.9', false],
    ['the same minor before 1.0.0', '0.3.0', '0.3.2', true],
    ['a newer patch before 1.0.0', '0.3.9', '0.3.2', true],
    ['an older minor before 1.0.0', '0.2.0', '0.3.0', false],
    ['before 1.0.0 on 1.0.0', '0.9.0', '1.0.0', false],
    ['a prerelease on the same prerelease', '1.1.0-rc.1', '1.1.0-rc.1', true],
    ['a prerelease on its release', '1.1.0-rc.1', '1.1.0', false],
    ['a release on its prerelease', '1.1.0', '1.1.0-rc.1', false],
    ['an older release on a prerelease', '1.0.0', '1.1.0-rc.1', false],
    ['build metadata', '1.0.0+a', '1.0.0+b', true],
    ['numeric comparison', '1.9.0', '1.10.0', true],
    ['an invalid version', 'one', '1.0.0', false],
    ['a range', '^1.0.0', '1.0.0', false],
    ['a short form', '1.0', '1.0.0', false],
    ['an empty string', '', '1.0.0', false],
    ['an invalid host version', '1.0.0', 'dev', false],
  ])('%s: %s on %s is compatible: %s', (_, manifest, host, compatible) => {
    expect(contractCompatible(manifest, host)).toBe(compatible)
  })
})

describe('host versions', () => {
  it.each<[string, string, boolean]>([
    ['^1.0.0', '1.9.3', true], ['^1.0.0', '2.0.0', false], ['~1.2.0', '1.2.9', true], ['~1.2.0', '1.3.0', false],
    ['>=1.0.0 <1.5.0', '1.4.0', true],
    ['1.0.0', '1.0.0', true], ['=1.0.0', '1.0.1', false], ['1.x || 3.x', '3.1.0', true],
    ['^1.0.0', '1.1.0-rc.1', false],
    ['>=1.1.0-rc.0', '1.1.0-rc.1', true],
    ['latest', '1.0.0', false], ['^1.0.0 nonsense', '1.0.0', false], ['^1.0.0', 'dev', false],
  ])('%s includes %s: %s', (range, host, holds) => {
    expect(coreSatisfies(range, host)).toBe(holds)
  })
})
