import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { NPM_KEYS, PUBLIC_GOOD_ROOT } from '../../src/signature/public-good.ts'
import { ageInDays, materialInWords } from '../../src/signature/package-signatures.ts'

describe('the shipped trust material', () => {
  const require = createRequire(import.meta.url)
  const { version } = JSON.parse(readFileSync(require.resolve('@sigstore/tuf/package.json'), 'utf8')) as {
    version: string,
  }
  const seeds = JSON.parse(readFileSync(require.resolve('@sigstore/tuf/seeds.json'), 'utf8')) as
    Record<string, { readonly targets: Record<string, string> }>
  const targets = Object.entries(seeds['https://tuf-repo-cdn.sigstore.dev']!.targets)

  test.each([
    ['trusted_root.json', PUBLIC_GOOD_ROOT], ['keys.json', NPM_KEYS],
  ])('%s equals that of its source', (name, material) => {
    const seed = targets.find(([target]) => target.endsWith(name))![1]
    expect(material.json).toEqual(JSON.parse(Buffer.from(seed, 'base64').toString('utf8')))
    expect(material.source).toBe(`@sigstore/tuf ${version}`)
  })
})

describe('the age of trust material', () => {
  const material = { source: 'somewhere', date: '2026-06-14', json: {} }

  test('is in whole days, and null if it is unknown', () => {
    expect(ageInDays(material, new Date('2026-06-15T23:00:00Z'))).toBe(1)
    expect(ageInDays(material, new Date('2026-06-01T00:00:00Z'))).toBe(0)
    expect(ageInDays({ ...material, date: null })).toBeNull()
    expect(ageInDays(PUBLIC_GOOD_ROOT)).toBeTypeOf('number')
  })

  test('is shown in words', () => {
    expect(materialInWords(material, new Date('2026-06-15T00:00:00Z'))).toBe('somewhere of 2026-06-14, 1 day old')
    expect(materialInWords(material, new Date('2026-07-14T00:00:00Z'))).toBe('somewhere of 2026-06-14, 30 days old')
    expect(materialInWords({ ...material, date: null })).toBe('somewhere')
  })
})
