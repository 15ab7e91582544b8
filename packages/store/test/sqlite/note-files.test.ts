import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { NoteFiles } from '../../src/sqlite/note-files.ts'
import { StoreFolder } from './store-folder.ts'

let folder: StoreFolder
beforeEach(() => { folder = new StoreFolder() })
afterEach(() => folder[Symbol.asyncDispose]())

const files = () => readdirSync(dirname(folder.file)).filter((name) => name.includes('-notes-'))
const turn = () => new Promise((resolve) => setImmediate(resolve))

it('what was put and not dropped is there for whoever comes next, at once', async () => {
  const notebook = new NoteFiles(folder.file).open('a/b 1')
  notebook.put(1, '{"one":1}')
  notebook.put(2, '{"two":2}')
  notebook.drop(1)
  notebook.drop(1)
  notebook.put(3, 'three')
  const next = new NoteFiles(folder.file)
  expect(await next.owners()).toEqual(['a/b 1'])
  expect(await next.left('a/b 1')).toEqual(['{"two":2}', 'three'])
  notebook.drop(3)
  await turn()
  expect(await next.left('a/b 1')).toEqual(['{"two":2}'])
  await next.discard('a/b 1')
  expect(await next.owners()).toEqual([])
})

it('no file is made before the first note, none is left after the last, and it is the owner\'s alone', async () => {
  const notes = new NoteFiles(folder.file)
  const [quiet, busy] = [notes.open('quiet'), notes.open('busy')]
  busy.put(1, 'x')
  expect(files()).toHaveLength(1)
  expect(statSync(join(dirname(folder.file), files()[0]!)).mode & 0o777).toBe(0o600)
  busy.drop(1)
  notes.close()
  notes.close()
  expect(files()).toEqual([])
  expect(() => quiet.put(1, 'late')).toThrow(expect.objectContaining({ data: { reason: 'closed' } }))
})

it('what still stands at the end stays, and a line that was not finished was never promised', async () => {
  const notes = new NoteFiles(folder.file)
  notes.open('me').put(1, 'open')
  notes.close()
  const [name] = files()
  const file = join(dirname(folder.file), name!)
  writeFileSync(file, `${readFileSync(file, 'utf8')}what is this\n+2 cut o`)
  expect(await new NoteFiles(folder.file).left('me')).toEqual(['open'])
})

it('a file that grows is written anew, and loses nothing that stands', async () => {
  const notebook = new NoteFiles(folder.file).open('me')
  notebook.put(0, 'stands')
  for (let id = 1; id <= 3_000; id++) {
    notebook.put(id, 'x'.repeat(1_000))
    notebook.drop(id)
  }
  await turn()
  expect(statSync(join(dirname(folder.file), files()[0]!)).size).toBeLessThan(1_100_000)
  expect(await new NoteFiles(folder.file).left('me')).toEqual(['stands'])
})

it('a folder that cannot be written to is told, and a name that is taken is not shared', () => {
  const notes = new NoteFiles(folder.file)
  notes.open('me').put(1, 'x')
  expect(() => notes.open('me').put(1, 'y')).toThrow(expect.objectContaining({ code: 'StoreUnavailable', data: expect.objectContaining({ reason: 'disk' }) }))
  const missing = new NoteFiles(join(dirname(folder.file), 'nowhere', 'host.db')).open('me')
  expect(() => missing.put(1, 'x')).toThrow(expect.objectContaining({ code: 'StoreUnavailable' }))
})
