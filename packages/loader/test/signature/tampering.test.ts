import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { PackageSignatures } from '../../src/signature/package-signatures.ts'
import { PackageFixture } from './signed-package.ts'
import { SigstoreFixture } from './sigstore-fixture.ts'

type Path = readonly (string | number)[]

const weather = new PackageFixture()
const integrityFile = Buffer.from(weather.integrityFile)
let sigstore: SigstoreFixture
let signatures: PackageSignatures
const bundles = new Map<string, JsonObject>()
beforeAll(async () => {
  sigstore = await SigstoreFixture.start()
  signatures = new PackageSignatures({ source: 'the test', date: null, json: sigstore.trustRoot })
  bundles.set('signature', await sigstore.sign(weather.integrityFile))
  bundles.set('statement', await sigstore.attest(weather.statement()))
})
afterAll(() => sigstore[Symbol.asyncDispose]())

const verify = (bundle: Json) => signatures.verify(Buffer.from(JSON.stringify(bundle)), integrityFile)
const entriesOf = (value: Json): readonly (readonly [string | number, Json])[] =>
  Array.isArray(value) ? [...(value as readonly Json[]).entries()] : isJsonObject(value) ? Object.entries(value) : []

/** All paths in the document, containers before their members. */
const placesIn = (value: Json, above: Path = []): readonly Path[] =>
  entriesOf(value).flatMap(([step, child]) => [[...above, step], ...placesIn(child, [...above, step])])
const at = (value: Json, path: Path): Json =>
  path.reduce<Json>((inner, step) => (inner as Record<string | number, Json>)[step]!, value)

/** The document with one value replaced or removed. */
function changed(value: Json, [step, ...below]: Path, replacement: Json | undefined): Json {
  const entries = entriesOf(value).flatMap(([key, child]): (readonly [string | number, Json])[] => {
    if (key !== step) return [[key, child]]
    if (below.length > 0) return [[key, changed(child, below, replacement)]]
    return replacement === undefined ? [] : [[key, replacement]]
  })
  return Array.isArray(value) ? entries.map(([, child]) => child) : Object.fromEntries(entries)
}

/** The value with one character changed at the start, in the middle and near the end, and other values. */
function forgeriesOf(leaf: Json): readonly Json[] {
  if (typeof leaf !== 'string') return [null, 'A', 7]
  const swapped = [0, Math.floor(leaf.length / 2), Math.max(0, leaf.length - 6)].map((index) =>
    `${leaf.slice(0, index)}${leaf[index] === '2' ? '3' : '2'}${leaf.slice(index + 1)}`)
  return [...new Set([...swapped, '', '7', 'AAAA', `${leaf}AAAA`])].filter((forged) => forged !== leaf)
}

describe.each(['signature', 'statement'])('a bundle with a %s', (kind) => {
  test('verifies unchanged', async () => {
    expect(await verify(bundles.get(kind)!)).toMatchObject({ ok: true })
  })

  test('is verified once for the same bytes, and again for others', async () => {
    const bundle = Buffer.from(JSON.stringify(bundles.get(kind)))
    const fresh = new PackageSignatures({ source: 'the test', date: null, json: sigstore.trustRoot })
    const first = await fresh.verify(bundle, integrityFile)
    expect(first).toMatchObject({ ok: true })
    expect(await fresh.verify(Buffer.from(bundle), integrityFile)).toBe(first)
    expect(await fresh.verify(bundle, Buffer.from(`${weather.integrityFile} `))).toMatchObject({ ok: false })
    expect(await fresh.verify(Buffer.from(`${bundle.toString('utf8')}x`), integrityFile)).toMatchObject({ ok: false })
  })

  test('does not verify with any single value changed', async () => {
    const bundle = bundles.get(kind)!
    const leaves = placesIn(bundle).filter((path) => entriesOf(at(bundle, path)).length === 0)
    expect(leaves.length).toBeGreaterThanOrEqual(15)
    const survivors: string[] = []
    // One change of each value, in turns, and all of them in `pnpm soak`.
    for (const [turn, path] of leaves.entries()) {
      const forgeries = forgeriesOf(at(bundle, path))
      for (const forged of thoroughly([forgeries[turn % forgeries.length]!], forgeries)) {
        const result = await verify(changed(bundle, path, forged))
        if (result.ok) survivors.push(`${path.join('/')} = ${JSON.stringify(forged).slice(-40)}`)
      }
    }
    expect(survivors).toEqual([])
  })

  /**
   * Optional parts: one of two time sources, because one is enough, and the name of the default hash. The rest verifies
   * with the same signer.
   */
  const dispensable: Record<string, readonly string[]> = {
    signature: ['messageSignature/messageDigest/algorithm'],
    statement: [],
  }
  test('does not verify with a required part removed', LONG, async () => {
    const bundle = bundles.get(kind)!
    const whole = await verify(bundle)
    const survivors: string[] = []
    for (const path of placesIn(bundle)) {
      const result = await verify(changed(bundle, path, undefined))
      if (!result.ok) continue
      survivors.push(path.join('/'))
      expect(result).toEqual(whole)
    }
    expect(survivors.toSorted()).toEqual([
      ...dispensable[kind]!,
      'verificationMaterial/timestampVerificationData',
      'verificationMaterial/timestampVerificationData/rfc3161Timestamps',
      'verificationMaterial/timestampVerificationData/rfc3161Timestamps/0',
      'verificationMaterial/tlogEntries/0/inclusionPromise',
    ])
  })

  test('may have another supported media type, with the same result', async () => {
    const whole = await verify(bundles.get(kind)!)
    for (const mediaType of [
      'application/vnd.dev.sigstore.bundle+json;version=0.1', 'application/vnd.dev.sigstore.bundle+json;version=0.2',
    ]) expect(await verify({ ...bundles.get(kind)!, mediaType })).toEqual(whole)
    const unknown = { ...bundles.get(kind)!, mediaType: 'application/vnd.dev.sigstore.bundle.v0.4+json' }
    expect(await verify(unknown)).toMatchObject({ ok: false })
  })

  test('may not have values that are not read', async () => {
    const place = ['verificationMaterial', 'tlogEntries', 0]
    const entry = at(bundles.get(kind)!, place) as JsonObject
    const result = await verify(changed(bundles.get(kind)!, place, { ...entry, comment: 'x' }))
    const message = 'has a value at /verificationMaterial/tlogEntries/0/comment that is not part of a bundle'
    expect(result).toEqual({ ok: false, fault: { step: 'form', message } })
  })

  test('needs one source of the signing time', async () => {
    const without = changed(bundles.get(kind)!, ['verificationMaterial', 'timestampVerificationData'], undefined)
    const result = await verify(
      changed(without, ['verificationMaterial', 'tlogEntries', 0, 'inclusionPromise'], undefined),
    )
    expect(result).toMatchObject({ ok: false, fault: { step: 'time' } })
  })

  test('is refused early with too many log entries', async () => {
    const entry = at(bundles.get(kind)!, ['verificationMaterial', 'tlogEntries', 0])
    const flood = changed(
      bundles.get(kind)!, ['verificationMaterial', 'tlogEntries'], Array.from({ length: 9 }, () => entry),
    )
    const message = 'has more than 8 log entries or timestamps'
    expect(await verify(flood)).toEqual({ ok: false, fault: { step: 'form', message } })
  })

  test('does not verify with a part of another bundle', async () => {
    const storms = new PackageFixture('storms')
    const other = kind === 'signature'
      ? await sigstore.sign(storms.integrityFile) : await sigstore.attest(storms.statement())
    const bundle = bundles.get(kind)!
    for (const [part, content] of Object.entries(other)) {
      if (part === 'mediaType') continue
      expect(await verify({ ...bundle, [part]: content }), part).toMatchObject({ ok: false })
    }
  })
})

describe('whatever the content of the file is', () => {
  test.each([
    ['', /not JSON|JSON/], ['{', /JSON/], ['{"mediaType":"a","mediaType":"b"}', /has a duplicate key/],
    ['[]', /not a sigstore bundle/], ['null', /not a sigstore bundle/], ['{}', /not a sigstore bundle/],
  ])('%j is refused with a reason', async (text, message) => {
    const result = await signatures.verify(Buffer.from(text), integrityFile)
    expect(result).toMatchObject({ ok: false, fault: { step: 'form', message: expect.stringMatching(message) } })
  })

  test('verification does not throw', async () => {
    const bundle = bundles.get('signature')!
    const places = placesIn(bundle)
    await fc.assert(fc.asyncProperty(fc.constantFrom(...places), fc.jsonValue(), async (path, value) => {
      const result = await verify(changed(bundle, path, value as Json))
      expect(result.ok).toBeTypeOf('boolean')
    }), { numRuns: thoroughly(30, 150) })
  })
})
