import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readTarball } from '../../src/files/read-tarball.ts'
import { paxRecord, writeTarball } from '../../src/files/tar-format.ts'
import { LOADER_LIMITS } from '../../src/model/limits.ts'

const long = `${'deep/'.repeat(20)}${'n'.repeat(120)}.js`
const files = new Map([
  ['b.js', 'b'], ['bulkhead.json', '{}'], ['a/\u00e4.js', 'x'.repeat(1_024)], ['empty', ''], [long, 'long'],
]
  .map(([path, text]) => [path!, new Uint8Array(Buffer.from(text!))]))

test('round-trips', async () => {
  const read = await readTarball(await writeTarball(files), LOADER_LIMITS)
  expect(read).toEqual({ ok: true, files: new Map([...files].toSorted()) })
})

test('writes the same bytes for the same files, in any order', async () => {
  const tarball = await writeTarball(files)
  expect(await writeTarball(new Map([...files].toReversed()))).toEqual(tarball)
  // The tar is the same on all machines. Its compressed form depends on the version of zlib.
  expect(createHash('sha256').update(gunzipSync(tarball)).digest('hex')).toBe(
    'd1211a700399c28a4f917a5e29688cf4b1aa5f66ed0a05799c1ad24b4901d416',
  )
})

test('includes its own digits in the length of a record', () => {
  for (const length of [1, 80, 86, 87, 88, 89, 90, 985, 990, 999, 1_000]) {
    const record = paxRecord('path', 'x'.repeat(length))
    expect(Number.parseInt(record, 10)).toBe(Buffer.byteLength(record))
  }
})
