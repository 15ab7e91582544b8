import { execFileSync } from 'node:child_process'
import { link, mkdir, rename, symlink, truncate, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSmallFile, SlowMounts, type ByteRange } from '../../src/fs/sync-read.ts'
import { FileScope } from '../../src/fs/file-scope.ts'
import { temporaryFolder } from '../fixture.ts'
import { CANARY, openFs, put } from './setup.ts'

const text = (bytes: Buffer): string => bytes.toString()

async function setUp() {
  const top = await temporaryFolder()
  await put(
    top, ['ws/a.txt', 'inside'], ['ws/sub/deep/b.txt', 'inside too'], ['outside/deep/b.txt', CANARY],
    ['outside/a.txt', CANARY],
  )
  const root = join(top, 'ws')
  const read = (path: string, range: ByteRange = {}) => readSmallFile({ path: join(root, path), root }, range, text)
  return { root, outside: join(top, 'outside'), read }
}

/** The mounts of a machine with one disk, optionally with a network mount. */
async function mounts(kind: string): Promise<SlowMounts> {
  const path = join(await temporaryFolder(), 'mountinfo')
  await writeFile(path, `29 1 254:0 / / rw - ${kind} /dev/vda rw\n`)
  const far = new SlowMounts(path)
  await far.read()
  return far
}

describe('a synchronous read', () => {
  it('returns a whole file or a range', async () => {
    const { read } = await setUp()
    expect(read('a.txt')).toBe('inside')
    expect(read('sub/deep/b.txt')).toBe('inside too')
    expect(read('a.txt', { start: 2 })).toBe('side')
    expect(read('a.txt', { start: 1, end: 3 })).toBe('ns')
    expect(read('a.txt', { end: 1_000_000 })).toBe('inside')
    expect(read('a.txt', { start: 1_000 })).toBe('')
  })

  it('returns undefined for a large, missing or special file', async () => {
    const { root, read } = await setUp()
    execFileSync('mkfifo', [join(root, 'pipe')])
    await writeFile(join(root, 'large'), 'x')
    await truncate(join(root, 'large'), 256 * 1024 + 1)
    for (const path of ['large', 'none', 'none/a', 'a.txt/b', 'sub', 'pipe']) expect(read(path), path).toBeUndefined()
    expect(read('large', { start: 1 })).toHaveLength(256 * 1024)
  })

  it('returns undefined for a path with links, wherever they lead', async () => {
    const { root, outside, read } = await setUp()
    await symlink(join(outside, 'a.txt'), join(root, 'link.txt'))
    await symlink('a.txt', join(root, 'harmless.txt'))
    await symlink(outside, join(root, 'folder'))
    for (const path of ['link.txt', 'harmless.txt', 'folder/a.txt', 'folder/deep/b.txt']) expect(read(path), path)
      .toBeUndefined()
  })

  it('does not read below a root that was moved or replaced by a link', async () => {
    const { root, outside, read } = await setUp()
    // After the move, only the path of the descriptor reveals that the root is another folder.
    await rename(root, `${root}-moved`)
    await symlink(`${root}-moved`, root)
    expect(read('a.txt')).toBeUndefined()
    await unlink(root)
    await symlink(outside, root)
    expect(read('a.txt')).toBeUndefined()
    await unlink(root)
    await mkdir(root)
    await link(join(`${root}-moved`, 'a.txt'), join(root, 'second-name.txt'))
    expect(read('second-name.txt')).toBe('inside')
  })
})

describe('a read inside a grant', () => {
  it('is synchronous on a local disk only', async () => {
    const { root } = await setUp()
    for (const [kind, atOnce] of [['ext4', 'inside'], ['nfs4', undefined], ['fuse.sshfs', undefined]] as const) {
      const scope = new FileScope('fs.read', [root], root, { slowMounts: await mounts(kind) })
      // The root is unknown before the first access.
      expect(scope.readSync('a.txt', {}, text)).toBeUndefined()
      await scope.locate('a.txt')
      expect(scope.readSync('a.txt', {}, text), kind).toBe(atOnce)
    }
  })

  it('is asynchronous outside the grant, behind a linked root, and on other platforms', async () => {
    const { root, outside } = await setUp()
    await symlink(root, join(root, '../way'))
    const far = await mounts('ext4')
    const narrow = new FileScope(
      'fs.read', [join(root, 'sub')], root, { slowMounts: far, reserved: [join(root, 'sub/kept')] },
    )
    await put(root, ['sub/kept/c.txt', CANARY])
    await narrow.locate('sub/deep/b.txt')
    expect(narrow.readSync('sub/deep/b.txt', {}, text)).toBe('inside too')
    for (const path of [
      'a.txt', join(outside, 'a.txt'), 'sub/../a.txt', 'sub/kept/c.txt', '/etc/passwd', '', 'sub/\0', 'sub',
    ]) {
      expect(narrow.readSync(path, {}, text), path).toBeUndefined()
    }
    const whole = new FileScope('fs.read', [root], root, { slowMounts: far })
    await whole.locate('a.txt')
    expect([whole.readSync('a.txt', {}, text), whole.readSync('.', {}, text)]).toEqual(['inside', undefined])
    const way = join(root, '../way')
    const linked = new FileScope('fs.read', [way], way, { slowMounts: far })
    await linked.locate('a.txt')
    expect(linked.readSync('a.txt', {}, text)).toBeUndefined()
    const elsewhere = new FileScope('fs.read', [root], root, { slowMounts: far, platform: 'darwin' })
    await elsewhere.locate('a.txt')
    expect(elsewhere.readSync('a.txt', {}, text)).toBeUndefined()
  })

  it('works after its root was moved and replaced by a link', async () => {
    const { root } = await setUp()
    const { fs } = openFs(root, { read: ['**'] })
    expect(await fs.readText('a.txt')).toBe('inside')
    await rename(root, `${root}-moved`)
    await symlink(`${root}-moved`, root)
    expect(await fs.readText('a.txt')).toBe('inside')
  })
})
