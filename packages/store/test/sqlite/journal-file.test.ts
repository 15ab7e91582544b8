import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { JournalFiles } from '../../src/sqlite/journal-file.ts'
import { StoreFolder } from './store-folder.ts'

let folder: StoreFolder
beforeEach(() => { folder = new StoreFolder() })
afterEach(() => folder[Symbol.asyncDispose]())

const files = () => readdirSync(dirname(folder.file)).filter((name) => name.includes('-notes-'))

it('a journal creates an owner-only file with the first entry, and removes it after the last', async () => {
  const notes = new JournalFiles(folder.file)
  const [quiet, busy] = [notes.open('quiet'), notes.open('busy')]
  busy.put(1, 'x')
  busy.save()
  expect(files()).toHaveLength(1)
  expect(statSync(join(dirname(folder.file), files()[0]!)).mode & 0o777).toBe(0o600)
  busy.drop(1)
  notes.close()
  notes.close()
  expect(files()).toEqual([])
  expect(() => quiet.put(1, 'late')).toThrow(expect.objectContaining({ data: { reason: 'closed' } }))
})

it('a closed journal keeps its open entries, and an incomplete line is ignored', async () => {
  const notes = new JournalFiles(folder.file)
  notes.open('me').put(1, 'open')
  notes.close()
  const [name] = files()
  const file = join(dirname(folder.file), name!)
  writeFileSync(file, `${readFileSync(file, 'utf8')}what is this\n+2 cut o`)
  expect(await new JournalFiles(folder.file).left('me')).toEqual(['open'])
})

it('a large journal is rewritten without losing open entries', async () => {
  const notebook = new JournalFiles(folder.file).open('me')
  notebook.put(0, 'stands')
  for (let id = 1; id <= 3_000; id++) {
    notebook.put(id, 'x'.repeat(1_000))
    notebook.save()
    notebook.drop(id)
  }
  notebook.save()
  expect(files()).toHaveLength(1)
  expect(statSync(join(dirname(folder.file), files()[0]!)).size).toBeLessThan(1_100_000)
  const next = new JournalFiles(folder.file)
  expect([await next.owners(), await next.left('me')]).toEqual([['me'], ['stands']])
  const other = next.open('me')
  other.put(1, 'y')
  expect(() => other.save()).toThrow(expect.objectContaining({ code: 'StoreUnavailable' }))
  notebook.drop(0)
  notebook.save()
  expect(await next.left('me')).toEqual([])
  await next.discard('me')
  expect(files()).toEqual([])
})

it('the file with the highest number counts after a crash during a rewrite', async () => {
  const notes = new JournalFiles(folder.file)
  notes.open('me').put(1, 'old')
  notes.close()
  const old = join(dirname(folder.file), files()[0]!)
  writeFileSync(`${old}~`, '+1 hal')
  writeFileSync(`${old}+9`, '+1 nine\n')
  writeFileSync(`${old}+10`, '+1 ten\n')
  const next = new JournalFiles(folder.file)
  expect([await next.owners(), await next.left('me'), await next.left('m')]).toEqual([['me'], ['ten'], []])
  await next.discard('me')
  expect(files()).toEqual([])
})

it('a journal that disappears after it was listed is empty', async () => {
  symlinkSync('nowhere', `${folder.file}-notes-me`)
  const notes = new JournalFiles(folder.file)
  expect([await notes.owners(), await notes.left('me')]).toEqual([['me'], []])
})

it('files with other names are no journals', async () => {
  writeFileSync(`${folder.file}-notes-100%`, '+1 x\n')
  writeFileSync(`${folder.file}-notes-me`, '+1 y\n')
  expect(await new JournalFiles(folder.file).owners()).toEqual(['me'])
})

it('entries that could not be saved are saved once the folder is writable', async () => {
  const place = join(dirname(folder.file), 'later')
  const notes = new JournalFiles(join(place, 'host.db'))
  const notebook = notes.open('me')
  notebook.put(1, 'one')
  expect(() => notebook.save()).toThrow(expect.objectContaining({ code: 'StoreUnavailable' }))
  notebook.put(2, 'two')
  notebook.drop(2)
  mkdirSync(place)
  notebook.put(3, 'three')
  notebook.save()
  expect(await notes.left('me')).toEqual(['one', 'three'])
})
