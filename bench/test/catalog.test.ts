import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openCatalog } from '../src/harness/subject.ts'

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'bench-catalog-'))))
afterEach(() => rm(folder, { recursive: true }))
const open = () => openCatalog(pathToFileURL(`${folder}/`))

describe('openCatalog', () => {
  it('lists the files of the folder without importing them', async () => {
    await writeFile(join(folder, 'zeta.ts'), 'throw new Error("imported")')
    await writeFile(join(folder, 'alpha.ts'), 'throw new Error("imported")')
    await writeFile(join(folder, 'notes.md'), '')
    expect((await open()).names).toEqual(['alpha', 'zeta'])
  })

  it('loads the subject that the file exports', async () => {
    await writeFile(join(folder, 'alpha.ts'), 'export const subject = { title: "Alpha" }')
    expect((await (await open()).load('alpha')).title).toBe('Alpha')
  })

  it('reports a file that exports no subject', async () => {
    await writeFile(join(folder, 'alpha.ts'), 'export default {}')
    await expect((await open()).load('alpha')).rejects.toThrow('alpha.ts exports no subject')
  })

  it.each(['beta', '../alpha', 'constructor'])('rejects the unknown name %s', async (name) => {
    await writeFile(join(folder, 'alpha.ts'), 'export const subject = { title: "Alpha" }')
    await expect((await open()).load(name)).rejects.toThrow(`There is no subject "${name}"`)
  })
})
