import { execFile as execute } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { isTemporaryName } from '../../src/fs/write-file.ts'
import { temporaryFolder } from '../fixture.ts'
import { codeOf, openFs, put } from './setup.ts'

const execFile = promisify(execute)
const NOBODY = 65_534

describe('writing', () => {
  it('creates missing folders that the grant covers', async () => {
    const workspace = await temporaryFolder()
    const { fs } = openFs(workspace, { read: ['**'], write: ['out/**', 'flat/*.md', 'a/b/c.txt'] })
    expect(await fs.write('out/x/y/z.txt', 'deep')).toEqual({ bytes: 4, created: true })
    expect(await readFile(join(workspace, 'out/x/y/z.txt'), 'utf8')).toBe('deep')
    expect(await codeOf(fs.write('flat/a.md', ''))).toBe('NotFound')
    await expect(fs.write('flat/a.md', ''))
      .rejects.toThrow(/^The folder of "flat\/a\.md" does not exist, and the tool may not create it\. Declare /)
    expect(await codeOf(fs.write('a/b/c.txt', ''))).toBe('NotFound')
    expect(await codeOf(fs.edit('out/none/a', 'x', 'y'))).toBe('NotFound')
    expect(await codeOf(fs.write('out/x/y/z.txt/below', ''))).toBe('NotFound')
    expect((await readdir(workspace)).toSorted()).toEqual(['out'])
    await mkdir(join(workspace, 'flat'))
    expect(await fs.write('flat/a.md', '')).toEqual({ bytes: 0, created: true })
  })

  it('creates shared folders for concurrent writes', async () => {
    const workspace = await temporaryFolder()
    const { fs } = openFs(workspace, { write: ['**'] })
    await Promise.all(Array.from({ length: 20 }, (_, index) => fs.write(`a/b/c/${index}.txt`, `${index}`)))
    expect((await readdir(join(workspace, 'a/b/c'))).length).toBe(20)
  })

  it('creates no folder through a link that leads outside', async () => {
    const root = await temporaryFolder()
    await put(root, 'ws/a.txt', 'outside/x.txt')
    await symlink('../outside', join(root, 'ws/out'))
    const { fs } = openFs(join(root, 'ws'), { write: ['**'] })
    expect(await codeOf(fs.write('out/new/file.txt', 'x'))).toBe('CapabilityDenied')
    expect(await readdir(join(root, 'outside'))).toEqual(['x.txt'])
  })

  it('keeps the mode of a file and leaves no partial file', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, ['run.sh', 'old'])
    await chmod(join(workspace, 'run.sh'), 0o750)
    const { fs } = openFs(workspace, { write: ['**'] })
    await fs.write('run.sh', Uint8Array.of(0, 255))
    expect((await stat(join(workspace, 'run.sh'))).mode & 0o777).toBe(0o750)
    expect([...await readFile(join(workspace, 'run.sh'))]).toEqual([0, 255])
    expect(await codeOf(fs.write('big', new Uint8Array(8 * 1024 * 1024 + 1)))).toBe('InputInvalid')
    expect(await codeOf(fs.write(`${'n'.repeat(256)}`, ''))).toBe('InputInvalid')
    expect(await readdir(workspace)).toEqual(['run.sh'])
  })

  it('does not replace a file without write permission, even if the folder is writable', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, ['kept', 'old'], ['free', 'old'])
    for (const [name, mode] of [['kept', 0o444], ['free', 0o644]] as const) {
      if (process.getuid!() === 0) await chown(join(workspace, name), NOBODY, NOBODY)
      await chmod(join(workspace, name), mode)
    }
    await chmod(workspace, 0o777)
    const fixture = join(import.meta.dirname, 'fixtures/plain-user.ts')
    const { stdout } = await execFile(process.execPath, [fixture, workspace, String(NOBODY), 'kept', 'free', 'fresh'])
    expect(JSON.parse(stdout)).toEqual(['EACCES', { bytes: 3, created: false }, { bytes: 3, created: true }])
    expect(await readFile(join(workspace, 'kept'), 'utf8')).toBe('old')
    expect((await readdir(workspace)).toSorted()).toEqual(['free', 'fresh', 'kept'])
  })

  it('does not recreate a removed workspace', async () => {
    const workspace = join(await temporaryFolder(), 'workspace')
    await put(workspace, 'docs/a.md')
    const { fs } = openFs(workspace, { write: ['**'] })
    await fs.write('docs/new/b.md', 'new')
    await rm(workspace, { recursive: true })
    for (const path of ['c.md', 'docs/c.md']) {
      await expect(fs.write(path, 'x'))
        .rejects.toMatchObject({ code: 'NotFound', message: expect.stringContaining('workspace no longer exists') })
    }
    expect(existsSync(workspace)).toBe(false)
  })

  it('uses a recognizable temporary name', () => {
    expect(isTemporaryName('.bulkhead-123e4567-e89b-12d3-a456-426614174000.tmp')).toBe(true)
    expect(['.bulkhead-x.tmp', 'a.tmp', '.bulkhead-123e4567-e89b-12d3-a456-426614174000.tmp2'].some(isTemporaryName))
      .toBe(false)
  })
})

describe('removing', () => {
  it('deletes files and empty folders', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, 'docs/a.md', 'docs/full/b.md')
    await mkdir(join(workspace, 'docs/empty'))
    const { fs } = openFs(workspace, { write: ['docs/**'] })
    await fs.remove('docs/a.md')
    await fs.remove('docs/empty/')
    expect(await codeOf(fs.remove('docs/full'))).toBe('InputInvalid')
    expect(await codeOf(fs.remove('docs/none'))).toBe('NotFound')
    expect(await codeOf(fs.remove('docs/a.md'))).toBe('NotFound')
    expect((await readdir(workspace, { recursive: true })).toSorted()).toEqual(['docs', 'docs/full', 'docs/full/b.md'])
  })

  it('rejects a root of the grant', async () => {
    const workspace = await temporaryFolder()
    const { fs } = openFs(workspace, { write: ['**'] })
    for (const path of ['.', workspace, './']) expect(await codeOf(fs.remove(path)), path).toBe('CapabilityDenied')
    expect((await stat(workspace)).isDirectory()).toBe(true)
  })
})
