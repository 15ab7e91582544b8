import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERRORS } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { INTEGRITY_FILE } from '../../src/files/integrity.ts'
import { createLoader } from '../../src/load/loader.ts'
import { HomeFixture, manifestOf } from '../home-fixture.ts'
import { mutate, mutation, replaceMember, replacement } from '../mutations.ts'
import { PackageFixture } from '../signature/signed-package.ts'

const mutations = fc.array(mutation, { minLength: 1, maxLength: 4 })

/** Size and times of all files and folders, except the file that the test writes. */
function snapshot(base: string, except: string): readonly string[] {
  return readdirSync(base, { recursive: true, encoding: 'utf8' })
    .map((path) => join(base, path))
    .filter((path) => path !== except)
    .map((path) => {
      const { size, mtimeMs, ctimeMs, ino } = lstatSync(path)
      return `${path} ${size} ${mtimeMs} ${ctimeMs} ${ino}`
    })
    .toSorted()
}

const RUNS = thoroughly(60, 300)

/** Writes arbitrary bytes to one file again and again. Nothing else may change on disk. */
async function withAnyBytes(
  home: HomeFixture, file: string, contents: fc.Arbitrary<string | Uint8Array>, numRuns: number,
  see: (written: Buffer) => Promise<void>,
): Promise<void> {
  const before = snapshot(home.base, file)
  await fc.assert(fc.asyncProperty(contents, async (content) => {
    writeFileSync(file, content)
    await see(readFileSync(file))
  }), { numRuns })
  expect(snapshot(home.base, file)).toEqual(before)
}

const valueIn = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

test('accepts or refuses an integrity file with any bytes', LONG, async () => {
  using home = new HomeFixture()
  const valid = new PackageFixture()
  const at = valid.install(home, undefined)
  const right = valid.integrityFile.toString()
  const loader = createLoader(home.options())
  let refused = 0
  const contents = fc.oneof(
    mutations.map((some) => mutate(right, some)),
    replacement.map(([pick, by]) => JSON.stringify(replaceMember(JSON.parse(right), pick, by))),
    fc.uint8Array({ maxLength: 100 }), fc.json(),
  )
  await withAnyBytes(home, join(at, INTEGRITY_FILE), contents, RUNS, async (written) => {
    const { extensions, diagnostics } = await loader.load({
      workspace: home.workspace, trust: 'trusted', projectDigest: 'any',
    })
    if (extensions.length === 1) {
      expect(extensions[0]!.integrity).toBe('verified')
      expect(valueIn(written)).toEqual(JSON.parse(right))
      return
    }
    refused++
    expect(diagnostics.map(({ stage, code }) => `${stage} ${code}`))
      .toEqual(diagnostics.map(() => 'integrity IntegrityFailed'))
    expect(diagnostics.length).toBeGreaterThan(0)
  })
  expect(refused).toBeGreaterThan(RUNS * 0.6)
})

test('returns a descriptor or a diagnostic for a package.json with any bytes', async () => {
  using home = new HomeFixture()
  home.write(join(home.globalRoot, 'config.json'), { packages: ['weather'] })
  home.write(join(home.globalRoot, 'node_modules/weather/index.js'), '')
  const file = home.write(join(home.globalRoot, 'node_modules/weather/package.json'), '')
  const right = { name: 'weather', version: '1.0.0', bulkhead: manifestOf() }
  const loader = createLoader(home.options())
  const contents = fc.oneof(
    mutations.map((some) => mutate(JSON.stringify(right), some)),
    replacement.map(([pick, by]) => JSON.stringify(replaceMember(right, pick, by))),
  )
  await withAnyBytes(home, file, contents, RUNS, async () => {
    const { extensions, diagnostics } = await loader.load({
      workspace: home.workspace, trust: 'trusted', projectDigest: 'any',
    })
    const errors = diagnostics.filter(({ severity }) => severity === 'error')
    expect(extensions.length === 1 ? errors.length : Math.min(errors.length, 1)).toBe(extensions.length === 1 ? 0 : 1)
    for (const { code, message } of diagnostics) expect([code in ERRORS, message === '']).toEqual([true, false])
  })
})

test('trusts no other project with any bytes in the trust file', async () => {
  using home = new HomeFixture()
  home.extension(home.projectRoot, 'weather')
  const { trust } = createLoader(home.options())
  const { digest } = await trust.decide(home.workspace, 'trusted')
  const file = join(home.globalRoot, 'trust.jsonl')
  const right = readFileSync(file, 'utf8')
  const contents = fc.oneof(
    mutations.map((some) => mutate(right, some)),
    replacement.map(([pick, by]) => `${JSON.stringify(replaceMember(JSON.parse(right), pick, by))}\n`),
    fc.uint8Array({ maxLength: 300 }),
  )
  await withAnyBytes(home, file, contents, RUNS, async () => {
    const { status } = await trust.status(home.workspace)
    expect(['unknown', 'trusted', 'declined', 'changed', 'once']).toContain(status.kind)
    if (status.kind === 'trusted' || status.kind === 'once') expect(status.digest).toBe(digest)
    await trust.list()
  })
})

test('returns the same report with any bytes in the cache', LONG, async () => {
  using home = new HomeFixture()
  home.extension(home.globalRoot, 'weather')
  const cache = join(home.base, 'cache')
  const request = { workspace: home.workspace, trust: 'trusted', projectDigest: 'any' } as const
  const load = async () => (await createLoader(home.options({ cache })).load(request)).extensions
  const expected = JSON.stringify(await load())
  await expect.poll(async () => {
    await load()
    return readdirSync(home.base).includes('cache')
  }).toBe(true)
  const file = join(cache, readdirSync(cache)[0]!)
  const right = readFileSync(file, 'utf8')
  await fc.assert(fc.asyncProperty(mutations, async (some) => {
    writeFileSync(file, mutate(right, some))
    expect(JSON.stringify(await load())).toBe(expected)
  }), { numRuns: thoroughly(20, 100) })
})
