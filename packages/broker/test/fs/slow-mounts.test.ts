import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SlowMounts, slowMountsIn } from '../../src/fs/sync-read.ts'
import { temporaryFolder } from '../fixture.ts'

const mount = (folder: string, kind: string, more = ''): string =>
  `29 1 254:0 / ${folder} rw,relatime ${more}- ${kind} /dev/vda rw\n`

const TABLE = [
  mount('/', 'ext4'), mount('/proc', 'proc'), mount('/tmp', 'tmpfs', 'shared:7 master:1 '),
  mount('/home/me/cloud', 'fuse.sshfs'),
  mount('/home/me/cloud/local', 'ext4'), mount('/mnt/my\\040share', 'nfs4'), mount('/mnt/my\\040share/deep', 'cifs'),
  mount('/w', '9p'),
].join('')

describe('slow mounts', () => {
  it('are mounts of non-local file systems, with everything below them', () => {
    expect(slowMountsIn(TABLE)).toEqual(['/proc', '/home/me/cloud', '/mnt/my share', '/w'])
    expect(slowMountsIn(mount('/', 'overlay') + mount('/var', 'xfs') + mount('/data', 'zfs'))).toEqual([])
  })

  it.each([
    ['a slow root', mount('/', 'nfs') + mount('/tmp', 'tmpfs')], ['an unknown file system', mount('/', 'newfs')],
    ['a table of another format', 'nothing of the kind\n'], ['an empty table', ''],
  ])('cover everything with %s', (_, table) => {
    expect(slowMountsIn(table)).toEqual(['/'])
  })

  async function foldersOf(table: string) {
    const path = join(await temporaryFolder(), 'mountinfo')
    await writeFile(path, table)
    return new SlowMounts(path)
  }

  it('cover everything until the table is read, and if it cannot be read', async () => {
    const far = await foldersOf(TABLE)
    expect(far.has('/home/me/a.txt')).toBe(true)
    await far.read()
    const isFar = (path: string) => far.has(path)
    expect(
      ['/home/me/cloud', '/home/me/cloud/a', '/home/me/cloud/local/a', '/mnt/my share/a', '/w/a', '/proc/1']
        .every(isFar),
    ).toBe(true)
    expect(['/home/me/a.txt', '/home/me/cloudy', '/tmp/a', '/', '/mnt/my', '/workspace'].some(isFar)).toBe(false)
    const none = new SlowMounts('/not/there')
    await none.read()
    expect(none.has('/home/me/a.txt')).toBe(true)
  })

  it('cover everything for some time after a slow read', async () => {
    const far = await foldersOf(mount('/', 'ext4'))
    await far.read()
    far.record(5)
    expect(far.has('/a')).toBe(false)
    far.record(5_000)
    expect(far.has('/a')).toBe(true)
  })
})
