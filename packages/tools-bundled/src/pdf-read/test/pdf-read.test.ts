import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../../scripts/thoroughly.ts'
import { pdfText } from '../../model/pdf/pdf-text.ts'
import { readRanges } from '../pdf-read.ts'
import { encryptedPdf, pdfOf } from '../../../test/pdf-of.ts'
import { toolSession } from '../../../test/tool-session.ts'

describe('pdf_read', () => {
  const tool = toolSession('pdf_read')

  it('returns the title, the number of pages and the text of each page', async () => {
    await tool.put('docs/a.pdf', pdfOf(['First page', 'Second page', 'Third page'], 'A report'))
    expect(await tool.call({ path: 'docs/a.pdf' })).toEqual({
      path: 'docs/a.pdf', title: 'A report', total: 3,
      pages: [{ page: 1, text: 'First page' }, { page: 2, text: 'Second page' }, { page: 3, text: 'Third page' }],
    })
    expect(await tool.call({ path: join(tool.workspace, 'docs/a.pdf'), pages: '3-, 1' }))
      .toMatchObject({ total: 3, pages: [{ page: 1, text: 'First page' }, { page: 3, text: 'Third page' }] })
  })

  it('ends with an error if a file needs too much time or memory, and reads the next one', LONG, async () => {
    // Eight million words in a few kilobytes. The limit of a call is 15 seconds.
    const words = deflateSync(`BT /F1 24 Tf ${'(x) Tj '.repeat(8_000_000)}ET`).toString('latin1')
    const [before, after] = pdfOf('x')
      .toString('latin1')
      .split(/<<\/Length \d+>>stream\n.*\nendstream/) as [string, string]
    const bomb = `${before}<</Length ${words.length}/Filter/FlateDecode>>stream\n${words}\nendstream${after}`
    const { signal } = new AbortController()
    await expect(pdfText(Buffer.from(bomb, 'latin1'), signal, { deadlineMs: 1_000 })).rejects.toMatchObject({
      message: expect.stringMatching(/(memory|took longer).*Read fewer pages/),
    })
    expect(await pdfText(pdfOf('words'), signal)).toMatchObject({ pages: [{ text: 'words' }] })
  })

  it('says so if pages have no text', LONG, async () => {
    await tool.put('scan.pdf', pdfOf(['', 'words']))
    expect(await tool.call({ path: 'scan.pdf', pages: '1' })).toEqual({
      path: 'scan.pdf', total: 2, note: expect.stringContaining('scans'), pages: [{ page: 1, text: '' }],
    })
    expect(await tool.call({ path: 'scan.pdf' })).not.toHaveProperty('note')
  })

  it.each<readonly [string, JsonObject, string, string]>([
    [
      'pages that do not exist', { path: 'one.pdf', pages: '2-9' }, 'InputInvalid',
      '"one.pdf" has 1 page, and none of them is in "2-9".',
    ],
    ['a wrong range', { path: 'one.pdf', pages: '5-2' }, 'InputInvalid', '"5-2" is not a page'],
    ['a missing file', { path: 'none.pdf' }, 'NotFound', 'none.pdf'],
    ['a folder', { path: '.' }, 'InputInvalid', 'is a folder'],
    ['a home folder', { path: '~/a.pdf' }, 'InputInvalid', '"~"'],
    ['a file outside of the workspace', { path: '/etc/passwd' }, 'CapabilityDenied', '/etc/passwd'],
    [
      'a file that is no PDF', { path: 'text.pdf' }, 'ToolExecutionFailed',
      'Invalid PDF structure. Check that the file is a complete PDF.',
    ],
    ...thoroughly<[string, JsonObject, string, string][]>(
      [], [['an empty file', { path: 'empty.pdf' }, 'ToolExecutionFailed', 'Check that the file is a complete PDF.']],
    ),
    [
      'an encrypted file', { path: 'locked.pdf' }, 'ToolExecutionFailed',
      'It is encrypted. Ask the user for a copy without a password.',
    ],
    ['a file that is too large', { path: 'large.pdf' }, 'InputInvalid', 'more than the limit of 64 MB. Split it'],
  ])('fails on %s', async (_, args, code, message) => {
    await tool.put('one.pdf', pdfOf('x'))
    await tool.put('text.pdf', 'words')
    await tool.put('empty.pdf')
    await tool.put('locked.pdf', encryptedPdf())
    await tool.put('large.pdf')
    truncateSync(join(tool.workspace, 'large.pdf'), 65 * 1024 * 1024)
    expect(await tool.refusal(args)).toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it('stops when the call is cancelled', async () => {
    await tool.put('one.pdf', pdfOf('x'))
    await expect(tool.call({ path: 'one.pdf' }, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
  })

  it('uses the file as its approval key', async () => {
    expect(await tool.key({ path: 'docs/a.pdf' })).toBe('docs/a.pdf')
  })
})

it('reads page ranges', () => {
  expect(readRanges('3')).toEqual([[3, 3]])
  expect(readRanges('1, 4 - 6,10-')).toEqual([[1, 1], [4, 6], [10, Infinity]])
  for (const wrong of ['0', '-3', '2-1', 'a', '1;2', '', '1,', '1-2-3', '12345678', '1.5']) {
    expect(() => readRanges(wrong), wrong).toThrow('is not a page or a range of pages')
  }
})
