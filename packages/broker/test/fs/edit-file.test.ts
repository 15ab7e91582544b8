import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { temporaryFolder } from '../fixture.ts'
import { codeOf, openFs } from './setup.ts'
import { applyUnifiedDiff } from './apply-unified-diff.ts'

async function editor(content: string | Uint8Array) {
  const workspace = await temporaryFolder()
  const path = join(workspace, 'f.txt')
  await writeFile(path, content)
  const { fs } = openFs(workspace, { read: ['**'], write: ['**'] })
  return { fs, bytes: () => readFile(path), text: () => readFile(path, 'utf8') }
}

const REST = '[The rest of the diff is not shown. All replacements were made.]\n'

describe('editing', () => {
  it('returns a diff', async () => {
    const { fs, text } = await editor('1\n2\n3\n4\n5\n6\n7\n8\n9\n')
    expect(await fs.edit('f.txt', '5\n', 'five\nand a half\n')).toEqual({
      replacements: 1,
      diff: '--- a/f.txt\n+++ b/f.txt\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+and a half\n 6\n 7\n 8\n',
    })
    expect(await text()).toBe('1\n2\n3\n4\nfive\nand a half\n6\n7\n8\n9\n')
    expect((await fs.edit('f.txt', '9\n', '9')).diff).toBe(
      '--- a/f.txt\n+++ b/f.txt\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-9\n+9\n\\ No newline at end of file\n',
    )
  })

  it.each([
    ['nothing', 'x', 'nothing', 'y'], ['an empty string', 'x', '', 'y'], ['the same string', 'x', 'x', 'x'],
    ['two occurrences', 'x x', 'x', 'y'], ['two overlapping occurrences', 'aaa', 'aa', 'b'],
  ])('rejects an edit with %s to replace and changes nothing', async (_, content, before, after) => {
    const { fs, text } = await editor(content)
    expect(await codeOf(fs.edit('f.txt', before, after))).toBe('InputInvalid')
    expect(await text()).toBe(content)
  })

  it('keeps line ends', async () => {
    const crlf = await editor('a\r\nb\r\nc\r\n')
    expect(await crlf.fs.edit('f.txt', 'a\nb', 'x\ny\nz')).toMatchObject({ replacements: 1 })
    expect(await crlf.text()).toBe('x\r\ny\r\nz\r\nc\r\n')
    await crlf.fs.edit('f.txt', 'c', 'c\nd')
    expect(await crlf.text()).toBe('x\r\ny\r\nz\r\nc\r\nd\r\n')
    const mixed = await editor('a\r\nb\nc\nd\r\ne\r\n')
    await mixed.fs.edit('f.txt', 'b\nc', 'B\nC')
    await mixed.fs.edit('f.txt', 'd\ne', 'D\nE')
    expect(await mixed.text()).toBe('a\r\nB\nC\nD\r\nE\r\n')
  })

  it('keeps encodings and invalid bytes', async () => {
    const latin = await editor(Buffer.from('caf\xe9 old \xff', 'latin1'))
    await latin.fs.edit('f.txt', 'old', 'new')
    expect((await latin.bytes()).toString('latin1')).toBe('caf\xe9 new \xff')
    expect(await codeOf(latin.fs.edit('f.txt', 'new', 'né'))).toBe('InputInvalid')
    const marked = await editor('\ufeffold')
    await marked.fs.edit('f.txt', 'old', 'neü')
    expect(await marked.text()).toBe('\ufeffneü')
    for (const swap of [(bytes: Buffer) => bytes, (bytes: Buffer) => bytes.swap16()]) {
      const wide = await editor(swap(Buffer.from('\ufeffold ü\r\n', 'utf16le')))
      await wide.fs.edit('f.txt', 'old ü\n', 'new 😀\n')
      expect(swap(await wide.bytes()).toString('utf16le')).toBe('\ufeffnew 😀\r\n')
    }
    expect(await codeOf((await editor(Uint8Array.of(0xff, 0xfe, 0x61))).fs.edit('f.txt', 'a', 'b')))
      .toBe('InputInvalid')
  })

  it('needs the right to read, because it reveals whether a string occurs', async () => {
    const workspace = await temporaryFolder()
    await writeFile(join(workspace, 'f.txt'), 'secret\nold\n')
    const { fs } = openFs(workspace, { read: ['other/**'], write: ['**'] })
    const messages = await Promise.all(['secret', 'nothing'].map((guess) => fs.edit('f.txt', guess, 'new')
      .catch((error: Error) => error.message)))
    expect(new Set(messages)).toEqual(new Set([expect.stringContaining('is outside what the tool may read') as string]))
  })

  it('keeps the mode of a file', async () => {
    const workspace = await temporaryFolder()
    await writeFile(join(workspace, 'f.sh'), 'echo old')
    await chmod(join(workspace, 'f.sh'), 0o777)
    const { fs } = openFs(workspace, { read: ['**'], write: ['**'] })
    await fs.edit('f.sh', 'old', 'new')
    expect((await stat(join(workspace, 'f.sh'))).mode & 0o777).toBe(0o777)
  })

  it('finishes on repetitive strings that slow a naive search down', LONG, async () => {
    const { fs } = await editor('a'.repeat(2_000_000))
    expect(await codeOf(fs.edit('f.txt', `${'a'.repeat(300)}b${'a'.repeat(500_000)}`, 'x'))).toBe('InputInvalid')
    expect(await codeOf(fs.edit('f.txt', 'a'.repeat(500_000), 'x'))).toBe('InputInvalid')
  })

  it('cuts the diff of many changes in one long line', LONG, async () => {
    const { fs } = await editor('a'.repeat(99_000))
    const { replacements, diff } = await fs.edit('f.txt', 'a', 'b', { all: true })
    expect(replacements).toBe(99_000)
    expect(diff).toContain(`\n+${'b'.repeat(1_000)}…\n`)
  })

  it('does not fail if the diff is too long', LONG, async () => {
    const { fs, bytes } = await editor('x')
    expect(await fs.edit('f.txt', 'x', '\n'.repeat(1_000_000)))
      .toEqual({ replacements: 1, diff: `--- a/f.txt\n+++ b/f.txt\n${REST}` })
    expect(await bytes()).toHaveLength(1_000_000)
  })

  it('rejects a result that is too long before it allocates it', LONG, async () => {
    const { fs, bytes } = await editor('a'.repeat(3_000))
    const before = process.resourceUsage().maxRSS
    expect(await codeOf(fs.edit('f.txt', 'a', 'b'.repeat(1024 * 1024), { all: true }))).toBe('InputInvalid')
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(1024 * 1024)
    expect(await bytes()).toHaveLength(3_000)
  })

  it('replaces all occurrences or none', async () => {
    const { fs, text } = await editor('a\n'.repeat(1_100_000))
    expect(await codeOf(fs.edit('f.txt', 'a', 'b', { all: true }))).toBe('InputInvalid')
    expect(await text()).not.toContain('b')
  })

  it('loses no concurrent edit', async () => {
    const { fs, text } = await editor(Array.from({ length: 50 }, (_, i) => `<${i}>\n`).join(''))
    await Promise.all(Array.from({ length: 50 }, (_, i) => fs.edit('f.txt', `<${i}>`, `[${i}]`)))
    expect(await text()).toBe(Array.from({ length: 50 }, (_, i) => `[${i}]\n`).join(''))
  })

  it.each([
    ['more hunks than fit', 5_000], ['more changes than are examined', 20_000],
  ])('marks an incomplete diff: %s', LONG, async (_, times) => {
    const { fs } = await editor('a\n1\n2\n3\n4\n5\n6\n7\n8\n'.repeat(times))
    const { replacements, diff } = await fs.edit('f.txt', 'a\n', 'b\n', { all: true })
    expect([replacements, diff!.endsWith(` 3\n${REST}`)]).toEqual([times, true])
  })

  it.each([
    ['near each other', 200, ''], ['too many to compare', 600, ''], ['far apart', 200, '1\n2\n3\n4\n5\n6\n7\n8\n'],
  ])('shows all changes: %s', async (_, times, between) => {
    const content = Array.from({ length: times }, (_each, index) => `a ${index}\n${between}`).join('')
    const { fs } = await editor(content)
    const { diff } = await fs.edit('f.txt', 'a', 'b', { all: true })
    expect(applyUnifiedDiff(content, diff!)).toBe(content.replaceAll('a', 'b'))
  })

  it('equals split and join, and its diff applies', async () => {
    const { fs, text } = await editor('')
    const piece = fc.constantFrom('a', 'b', 'ab', '\n', 'x\n', 'é', ' ')
    const piecesOf = (most: number) => fc.array(piece, { minLength: 1, maxLength: most })
      .map((pieces) => pieces.join(''))
    await fc.assert(fc.asyncProperty(piecesOf(40), piecesOf(3), piecesOf(4), async (content, before, after) => {
      fc.pre(content.includes(before) && before !== after)
      await fs.write('f.txt', content)
      const { replacements, diff } = await fs.edit('f.txt', before, after, { all: true })
      const expected = content.split(before).join(after)
      expect(await text()).toBe(expected)
      expect(replacements).toBe(content.split(before).length - 1)
      expect(applyUnifiedDiff(content, diff!)).toBe(expected)
    }), { numRuns: thoroughly(30, 300) })
  })
})
