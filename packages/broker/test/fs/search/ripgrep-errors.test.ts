import { expect, it } from 'vitest'
import { RipgrepErrors } from '../../../src/fs/search/ripgrep.ts'

function collect(...parts: readonly string[]) {
  const complaints = new RipgrepErrors()
  for (const part of parts) complaints.add(Buffer.from(part))
  return { text: complaints.end(), unread: complaints.unread, hasRead: complaints.hasRead }
}

it('counts unreadable files in any chunking, without removed ones', () => {
  expect(collect(
    'rg: ./a: Permission denied (os err',
    'or 13)\nrg: ./b: Permission denied (os error 13)\nrg: ./c: No such file or directory (os error 2)\n',
  ))
    .toEqual({ text: '', unread: 2, hasRead: true })
})

it('keeps messages about the pattern', () => {
  expect(collect('rg: regex parse error:\n    (', '\n'))
    .toEqual({ text: 'rg: regex parse error:\n    (\n', unread: 0, hasRead: false })
  expect(collect('x'.repeat(5_000), '\ny\n').text).toBe(`${'x'.repeat(5_000)}\n`)
})

it('counts a file name with a line end once', () => {
  expect(collect('rg: ./a\nb: Permission denied (os error 13)\n')).toMatchObject({ unread: 1, hasRead: true })
})
