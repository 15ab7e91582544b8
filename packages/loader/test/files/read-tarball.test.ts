import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { readTarball } from '../../src/files/read-tarball.ts'
import { paxRecord } from '../../src/files/tar-format.ts'
import { LOADER_LIMITS } from '../../src/model/limits.ts'
import { archive, END, entry, pax } from './archive-fixture.ts'

const small = { files: 8, fileBytes: 2_000, packageBytes: 4_000, folderDepth: 3 }
const read = (bytes: Uint8Array) => readTarball(bytes, small)
const paths = async (bytes: Uint8Array) => {
  const result = await read(bytes)
  return result.ok
    ? [...result.files].map(([path, content]) => [path, Buffer.from(content).toString()]) : result.message
}

describe('a valid archive', () => {
  test('gives files by path, without the top-level folder', async () => {
    expect(
      await paths(
        archive(entry({ name: 'package/', type: '5' }), entry({ name: 'package/bulkhead.json', body: '{}' }), entry({
          name: 'package/lib/a.js', body: 'a',
        })),
      ),
    )
      .toEqual([['bulkhead.json', '{}'], ['lib/a.js', 'a']])
  })

  test('may have another top-level folder, or long names in either form', async () => {
    expect(await paths(archive(entry({ name: 'weather/a.js' })))).toEqual([['a.js', '']])
    expect(await paths(archive(entry({ prefix: 'package/lib', name: 'a.js' })))).toEqual([['lib/a.js', '']])
    expect(await paths(archive(pax('24 path=package/\u00e4/b.js\n'), entry({ name: 'short' })))).toEqual([
      ['\u00e4/b.js', ''],
    ])
    expect(await paths(archive(
      pax('20 mtime=1700000000\n'), entry(), pax('12 comment=\n', 'g'), entry({ name: 'package/b.js', type: '\0' }),
    ))).toHaveLength(2)
    expect(await paths(archive(entry({ magic: 'ustar  \0' })))).toEqual([['a.js', '']])
  })

  test('may repeat folders', async () => {
    expect(await paths(archive(
      entry({ name: 'package/lib/', type: '5' }), entry({ name: 'package/lib/a.js' }),
      entry({ name: 'package/lib', type: '5' }),
    ))).toEqual([['lib/a.js', '']])
  })
})

describe('refuses a hostile archive', () => {
  const one = entry({ name: 'package/ok.js' })
  test.each<[string, Uint8Array, RegExp]>([
    ['an empty file', new Uint8Array(), /not gzipped/],
    ['a file that is not gzipped', entry(), /not gzipped/],
    ['a truncated gzip file', archive(one).subarray(0, 30), /cannot be unzipped/],
    ['bytes after the gzip file', Buffer.concat([archive(one), Buffer.alloc(4)]), /unzipped|after its end/],
    ['no files', archive(), /has no files/],
    ['no end', gzipSync(one), /no end/],
    ['an incomplete end', gzipSync(Buffer.concat([one, Buffer.alloc(512)])), /no end/],
    [
      'files after the end', gzipSync(Buffer.concat([one, END, entry({ name: 'package/late.js' }), END])),
      /after its end/,
    ],
    ['an incomplete block', gzipSync(Buffer.concat([one, Buffer.alloc(100)])), /middle of a block/],
    ['an absolute path', archive(entry({ name: '/etc/passwd' })), /not a path inside/],
    ['a path with ..', archive(entry({ name: 'package/../../evil' })), /not a path inside/],
    ['a path with .. that stays inside', archive(entry({ name: 'package/lib/../a.js' })), /not a path inside/],
    ['a path that starts with ..', archive(entry({ name: '../package/a.js' })), /not a path inside/],
    ['a path with a dot', archive(entry({ name: './package/a.js' })), /not a path inside/],
    ['an empty segment', archive(entry({ name: 'package//a.js' })), /not a path inside/],
    ['a backslash', archive(entry({ name: 'package/..\\evil' })), /backslash/],
    ['a drive letter', archive(entry({ name: 'package/C:evil' })), /colon/],
    ['a hidden character', archive(entry({ name: 'package/a\u202ejs' })), /invisible/],
    ['a line feed', archive(entry({ name: 'package/a\nb' })), /control/],
    [
      'a name that is too long', archive(pax(paxRecord('path', `package/${'n'.repeat(256)}`)), entry()),
      /more than 255 bytes/,
    ],
    [
      'a path that is too long', archive(pax(paxRecord('path', `package/${'n/'.repeat(512)}n`)), entry()),
      /more than 1024 characters/,
    ],
    ['a name with bytes after its NUL', archive(entry({ rawName: Buffer.from('package/a.js\0evil') })), /invalid name/],
    ['a name that is not UTF-8', archive(entry({ rawName: Buffer.from([0x70, 0x2f, 0xff]) })), /invalid name/],
    ['a file outside the top-level folder', archive(one, entry({ name: 'other/a.js' })), /outside the folder/],
    [
      'a file in place of the top-level folder', archive(entry({ name: 'package' })),
      /in place of the top-level folder/,
    ],
    ['a symbolic link', archive(one, entry({ name: 'package/l', type: '2', link: '/etc/passwd' })), /link/],
    ['a hard link', archive(one, entry({ name: 'package/l', type: '1', link: 'package/ok.js' })), /link/],
    ['a character device', archive(entry({ type: '3' })), /device/],
    ['a block device', archive(entry({ type: '4' })), /device/],
    ['a pipe', archive(entry({ type: '6' })), /device/],
    ['a sparse file', archive(entry({ type: 'S' })), /unknown type/],
    ['a GNU long name', archive(entry({ name: '././@LongLink', type: 'L', body: 'package/evil' })), /unknown type/],
    ['a duplicate name', archive(one, one), /twice/],
    ['a duplicate name from an extended header', archive(one, pax('22 path=package/ok.js\n'), entry()), /twice/],
    [
      'names that differ in case', archive(entry({ name: 'package/Lib/a.js' }), entry({ name: 'package/lib/b.js' })),
      /ignore case/,
    ],
    [
      'names that differ in Unicode form',
      archive(entry({ name: 'package/\u00e4' }), entry({ name: 'package/a\u0308' })), /ignore case/,
    ],
    ['a file that is also a folder', archive(entry({ name: 'package/a' }), entry({ name: 'package/a/b' })), /twice/],
    ['a folder that is also a file', archive(entry({ name: 'package/a/b' }), entry({ name: 'package/a' })), /twice/],
    ['a folder with bytes', archive(entry({ name: 'package/d/', type: '5', body: 'x' })), /folder with content/],
    [
      'too many files', archive(...Array.from({ length: 9 }, (_, at) => entry({ name: `package/${at}` }))),
      /more than 8 files/,
    ],
    [
      'too many folders',
      archive(one, ...Array.from({ length: 9 }, (_, at) => entry({ name: `package/${at}/`, type: '5' }))),
      /more than 8 files/,
    ],
    [
      'too many top-level folders',
      archive(...Array.from({ length: 9 }, () => entry({ name: 'package/', type: '5' })), one), /more than 8 files/,
    ],
    ['a file that is too large', archive(entry({ body: 'x'.repeat(2_001) })), /2001 bytes/],
    [
      'too many bytes', archive(...[1, 2, 3].map((at) => entry({ name: `package/${at}`, body: 'x'.repeat(1_500) }))),
      /more than 4000 bytes/,
    ],
    ['folders that are nested too deep', archive(entry({ name: 'package/a/b/c/d/e' })), /folders deep/],
    ['bytes after its compressed end', Buffer.concat([archive(one), Buffer.alloc(4)]), /bytes after its end/],
    ['a decompression bomb', gzipSync(Buffer.alloc(50_000_000)), /unpacks to more than/],
    ['a size beyond the end', archive(entry({ size: 1_000_000 })), /middle of a file/],
    ['a negative size', archive(entry({ size: '-0000000001' })), /invalid size/],
    ['a binary size', archive(entry({ size: '\u0080\0\0\0\0\0\0\0\0\0\0\u0001' })), /invalid size/],
    [
      'a size beyond the end in an extended header', archive(pax('13 size=99999\n'.replace('13', '14')), entry()),
      /middle of a file/,
    ],
    ['an invalid size in an extended header', archive(pax('11 size=-1\n'), entry()), /middle of a file/],
    ['a wrong checksum', archive(entry({ checksum: 1 })), /checksum/],
    ['an unknown magic', archive(entry({ magic: 'evil' })), /ustar/],
    [
      'an extended header with a link path', archive(pax('25 linkpath=/etc/passwd\n'.replace('25', '24')), entry()),
      /unsupported key/,
    ],
    ['an extended header for sparse files', archive(pax('22 GNU.sparse.major=1\n'), entry()), /unsupported key/],
    [
      'an extended header with a duplicate key', archive(pax('18 path=package/a\n18 path=package/b\n'), entry()),
      /duplicate key/,
    ],
    ['an extended header that cannot be read', archive(pax('99 path=x\n'), entry()), /cannot be read/],
    ['an extended header with a NUL', archive(pax('20 path=package/a\0b\n'), entry()), /cannot be read/],
    ['an extended header with a length of zero', archive(pax('0 path=x\n'), entry()), /cannot be read/],
    [
      'an extended header with .. in its path', archive(pax('18 path=../../evil\n'.replace('18', '19')), entry()),
      /not a path inside/,
    ],
    [
      'a path in a global extended header', archive(pax('22 path=package/evil1\n'.replace('22', '23'), 'g'), entry()),
      /unsupported key|cannot be read/,
    ],
    ['two extended headers', archive(pax('18 path=package/a\n'), pax('18 path=package/b\n'), entry()), /two extended/],
    ['an extended header at the end', archive(one, pax('18 path=package/a\n')), /ends after/],
  ])('refuses %s', async (_, bytes, message) => expect(await paths(bytes)).toMatch(message))

  test('refuses bytes between files', async () => {
    const padded = entry({ body: 'x' })
    padded[1000] = 1
    expect(await paths(archive(padded))).toMatch(/between its files/)
  })
})

describe('arbitrary bytes', () => {
  const valid = Buffer.concat([
    pax('24 path=package/\u00e4/b.js\n'), entry({ name: 'x', body: 'abc' }),
    entry({ name: 'package/lib/c.js', body: 'x'.repeat(700) }), END,
  ])
  const sound = async (bytes: Uint8Array) => {
    const result = await readTarball(bytes, LOADER_LIMITS)
    if (!result.ok) expect(result.message).not.toBe('')
    else for (const path of result.files.keys()) expect(path).toMatch(/^(?!\/)(?!.*(?:^|\/)\.{0,2}(?:\/|$))[^\\:\0]+$/)
  }

  test('give files inside the package, or a message', async () => {
    const mutation = fc.tuple(fc.nat(valid.length - 1), fc.uint8Array({ minLength: 1, maxLength: 12 }))
    await fc.assert(fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 6 }), async (mutations) => {
      const bytes = Buffer.from(valid)
      for (const [at, insert] of mutations) bytes.set(insert.subarray(0, bytes.length - at), at)
      await sound(gzipSync(bytes, { level: 1 }))
    }), { numRuns: thoroughly(80, 400) })
    await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 600 }), sound), { numRuns: thoroughly(40, 200) })
  })

  test('also with a valid checksum', async () => {
    const field = fc.record({
      name: fc.oneof(
        fc.string({ maxLength: 100 }), fc.constantFrom('package/../x', 'package/a', 'package/a/b', 'a\\b', 'package/A'),
      ),
      type: fc.constantFrom('0', '5', 'x', 'g', '1', '2', 'L', '7'),
      body: fc.oneof(fc.string({ maxLength: 40 }), fc.constantFrom('18 path=package/a\n', '15 path=../evil\n')),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(field, { maxLength: 5 }), (entries) => sound(archive(...entries.map(entry)))),
      { numRuns: thoroughly(80, 400) },
    )
  })
})

test('refuses an extended header of more than 64 KiB', async () => {
  const long = archive(pax(paxRecord('mtime', '1'.repeat(65_536))), entry())
  expect(await readTarball(long, LOADER_LIMITS)).toMatchObject({ message: 'has an extended header that is too long' })
})
