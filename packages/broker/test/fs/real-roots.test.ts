import { rename, symlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemDisk, type Disk } from '../../src/fs/disk.ts'
import { FileScope } from '../../src/fs/file-scope.ts'
import { POSIX_PATHS } from '../../src/fs/paths.ts'
import { RealRoots } from '../../src/fs/resolve-path.ts'
import { temporaryFolder } from '../fixture.ts'
import { put } from './setup.ts'

/** The real disk, with a count of accesses. */
function counted(): { readonly disk: Disk; readonly asked: () => number } {
  const disk = systemDisk(POSIX_PATHS)
  let count = 0
  const counting = <A extends readonly unknown[], R>(work: (...args: A) => R) => (...args: A): R => {
    count++
    return work(...args)
  }
  return {
    disk: {
      lstat: counting(disk.lstat), readlink: counting(disk.readlink), readdir: counting(disk.readdir),
      realpath: counting(disk.realpath),
    },
    asked: () => {
      const before = count
      count = 0
      return before
    },
  }
}

const rootsOn = (disk: Disk): RealRoots => new RealRoots({ disk, paths: POSIX_PATHS, platform: 'linux' })

it('resolves a root without links once', async () => {
  const folder = await temporaryFolder()
  const { disk, asked } = counted()
  const roots = rootsOn(disk)
  const first = await roots.find(folder)
  expect(first.real).toBe(folder)
  asked()
  expect(await roots.find(folder)).toBe(first)
  expect(asked()).toBe(0)
  expect(await roots.refresh(folder)).toBe(first)
})

it('checks the link of a root every time', async () => {
  const folder = await temporaryFolder()
  await put(folder, 'one/a', 'two/a')
  const link = join(folder, 'link')
  await symlink('one', link)
  const { disk, asked } = counted()
  const roots = rootsOn(disk)
  const first = await roots.find(link)
  asked()
  expect(await roots.find(link)).toBe(first)
  expect(asked()).toBe(1)
  await unlink(link)
  await symlink('two', link)
  expect((await roots.find(link)).real).toBe(join(folder, 'two'))
})

it('resolves a missing root to where it would be, and tries again', async () => {
  const folder = await temporaryFolder()
  const roots = rootsOn(systemDisk(POSIX_PATHS))
  await symlink('target', join(folder, 'way'))
  await put(folder, 'target/x')
  expect((await roots.find(join(folder, 'way/later/deep'))).real).toBe(join(folder, 'target/later/deep'))
  await put(folder, 'elsewhere/deep/x')
  await rename(join(folder, 'elsewhere'), join(folder, 'target/later'))
  expect((await roots.find(join(folder, 'way/later/deep'))).real).toBe(join(folder, 'target/later/deep'))
})

it('resolves a path without links by one access, whatever the number of patterns', async () => {
  const folder = await temporaryFolder()
  await put(folder, 'a/b/c/d.txt')
  const { disk, asked } = counted()
  const patterns = ['a/**', 'x/**', '*.md', '**/y'].map((pattern) => `${folder}/${pattern}`)
  const scope = new FileScope('fs.read', patterns, folder, { disk })
  await scope.locate('a/b/c/d.txt')
  asked()
  await scope.locate('a/b/c/d.txt')
  expect(asked()).toBe(1)
})
