import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mergeLatest, resultOf, type Latest } from '../src/harness/result.ts'
import { QUICK, runSubject } from '../src/harness/run.ts'
import { defineSubject } from '../src/harness/subject.ts'
import { spinning } from './fixtures/sides.ts'

const subject = defineSubject({
  title: 'T', compares: 'C', sides: [spinning('a', 1)], modes: [{ kind: 'latency' }], ratios: [],
})
const result = { ...resultOf(subject, QUICK, await runSubject(subject, QUICK)), seconds: 1.23456789 }

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bench-latest-'))
  file = join(folder, 'latest.json')
})
afterEach(() => rm(folder, { recursive: true }))
const read = async () => JSON.parse(await readFile(file, 'utf8')) as Latest

describe('mergeLatest', () => {
  it('creates the file and no other', async () => {
    await mergeLatest(file, new Map([['skeleton', result]]))
    expect(Object.keys((await read()).subjects)).toEqual(['skeleton'])
    expect(await readdir(folder)).toEqual(['latest.json'])
  })

  it('replaces a subject by its name and keeps the others', async () => {
    await mergeLatest(
      file, new Map([['skeleton', { ...result, title: 'old' }], ['audit', { ...result, title: 'kept' }]]),
    )
    await mergeLatest(file, new Map([['skeleton', { ...result, title: 'new' }]]))
    const { subjects } = await read()
    expect(Object.entries(subjects).map(([name, { title }]) => `${name}: ${title}`)).toEqual([
      'audit: kept', 'skeleton: new',
    ])
  })

  it('stores four significant digits', async () => {
    await mergeLatest(file, new Map([['skeleton', result]]))
    expect((await read()).subjects['skeleton']?.seconds).toBe(1.235)
  })

  it.each(['{"subjects": {', '[]', 'null'])('does not change a file with other content: %s', async (text) => {
    await writeFile(file, text)
    await expect(mergeLatest(file, new Map([['skeleton', result]])))
      .rejects.toThrow('does not contain benchmark results')
    expect(await readFile(file, 'utf8')).toBe(text)
  })
})
