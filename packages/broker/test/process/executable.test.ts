import {
  chmodSync, linkSync, mkdirSync, renameSync, statSync, symlinkSync, unlinkSync, utimesSync, writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { any, ShellGround } from '../shell/shell-ground.ts'

let ground = new ShellGround()
beforeEach(async () => {
  await ground.clear()
  ground = new ShellGround()
})
afterAll(() => ground.clear())

const denied = (why: RegExp) => expect.objectContaining({ code: 'CapabilityDenied', message: expect.stringMatching(why) })
const run = (cmd: string, options = {}, grant = {}) => ground.open({ shell: any(cmd), ...grant }, options).shell.run(cmd)

describe('the search for a command', () => {
  it('does not find a command that is only in the workspace', async () => {
    ground.command('mine', '#!/bin/sh\necho mine', ground.workspace)
    await expect(run('mine')).rejects.toMatchObject({ code: 'NotFound' })
  })

  it('does not find a command that is only in PATH of the host', async () => {
    const elsewhere = join(ground.root, 'elsewhere')
    mkdirSync(elsewhere)
    ground.command('hosts-own', '#!/bin/sh\necho hosts', elsewhere)
    const before = process.env['PATH']
    process.env['PATH'] = `${elsewhere}:${before}`
    try {
      await expect(run('hosts-own')).rejects.toMatchObject({ code: 'NotFound' })
    } finally {
      process.env['PATH'] = before
    }
  })

  it('returns the first program of that name and skips folders and plain files', async () => {
    const first = join(ground.root, 'first')
    const second = join(ground.root, 'second')
    for (const folder of [first, second]) mkdirSync(folder)
    mkdirSync(join(first, 'tool'))
    writeFileSync(join(second, 'tool'), '#!/bin/sh\necho not executable')
    ground.sh('tool', 'echo found')
    expect((await run('tool', { path: [first, second, ground.bin] })).stdout).toBe('found\n')
  })

  it('finds a program that is installed later', async () => {
    const { shell } = ground.open({ shell: any('late') })
    await expect(shell.run('late')).rejects.toMatchObject({ code: 'NotFound' })
    ground.sh('late', 'echo here')
    expect((await shell.run('late')).stdout).toBe('here\n')
  })

  it.each(['bin', './bin', '', '/bin:/usr/bin'])('rejects "%s" as a folder of the list', (folder) => {
    expect(() => ground.open({}, { path: [folder] })).toThrow(expect.objectContaining({ code: 'ConfigInvalid' }))
  })
})

describe('a program', () => {
  it('in the workspace is denied, even if PATH contains the folder', async () => {
    ground.command('mine', '#!/bin/sh\necho mine', ground.workspace)
    await expect(run('mine', { path: [ground.workspace] })).rejects.toEqual(denied(/tools can write/))
  })

  it('behind a link into the workspace is denied', async () => {
    symlinkSync(ground.command('target', '#!/bin/sh\necho mine', ground.workspace), join(ground.bin, 'linked'))
    await expect(run('linked')).rejects.toEqual(denied(/tools can write/))
  })

  it('behind a link that passes through the workspace is denied', async () => {
    symlinkSync('/bin/sh', join(ground.workspace, 'hop'))
    symlinkSync(join(ground.workspace, 'hop'), join(ground.bin, 'linked'))
    await expect(run('linked')).rejects.toEqual(denied(/tools can write/))
  })

  it('behind a folder that is a link in the workspace is denied', async () => {
    symlinkSync('/bin', join(ground.workspace, 'folder'))
    symlinkSync('../workspace/folder/../bin/sh', join(ground.bin, 'linked'))
    await expect(run('linked')).rejects.toEqual(denied(/tools can write/))
  })

  it('in a workspace that is opened through a link is denied', async () => {
    const alias = join(ground.root, 'alias')
    symlinkSync(ground.workspace, alias)
    ground.command('mine', '#!/bin/sh\necho mine', ground.workspace)
    await expect(run('mine', { workspace: alias, path: [ground.workspace] })).rejects.toEqual(denied(/tools can write/))
  })

  it.each(['', '/*.txt', '/**'])('where a tool of the compartment may write is denied: %s', async (rest) => {
    ground.sh('written', 'echo written')
    const fs = { read: [], write: [`${ground.bin}${rest}`] }
    await expect(run('written', {}, { fs })).rejects.toEqual(denied(/tools can write/))
  })

  it('is denied anywhere if a tool of the compartment may write everywhere', async () => {
    ground.sh('written', 'echo written')
    await expect(run('written', {}, { fs: { read: [], write: ['/**'] } })).rejects.toEqual(denied(/tools can write/))
  })

  it('is allowed in a sibling folder that shares a prefix with the workspace', async () => {
    const beside = `${ground.workspace}-tools`
    mkdirSync(beside)
    ground.command('beside', '#!/bin/sh\necho beside', beside)
    expect((await run('beside', { path: [beside] })).stdout).toBe('beside\n')
  })

  it('is allowed behind a link between system folders, and runs under the name of the link', async () => {
    const real = ground.sh('real', 'echo "${0##*/}"')
    symlinkSync(real, join(ground.bin, 'alias'))
    expect((await run('alias')).stdout).toBe('alias\n')
  })

  it('behind circular links is not found', async () => {
    symlinkSync(join(ground.bin, 'b'), join(ground.bin, 'a'))
    symlinkSync(join(ground.bin, 'a'), join(ground.bin, 'b'))
    await expect(run('a')).rejects.toMatchObject({ code: 'NotFound' })
  })

  it.each([['setuid', 0o4755], ['setgid', 0o2755]])('with %s is denied', async (_, mode) => {
    chmodSync(ground.sh('other', 'id'), mode)
    await expect(run('other')).rejects.toEqual(denied(/another user or group/))
  })

  it('that is writable by all users is denied', async () => {
    chmodSync(ground.sh('open', 'id'), 0o777)
    await expect(run('open')).rejects.toEqual(denied(/written by anyone/))
  })

  it.each([
    ['plain text', 'echo from a shell\n'],
    ['an empty file', ''],
    ['a space before the interpreter line', ' #!/bin/sh\necho from a shell\n'],
  ])('that only a shell can run is denied: %s', async (_, content) => {
    ground.command('headless', content)
    await expect(run('headless')).rejects.toEqual(denied(/interpreter/))
  })
})

describe('a pinned command', () => {
  it('is denied if another file replaces it, until the next compartment', async () => {
    ground.sh('tool', 'echo first')
    const { shell } = ground.open({ shell: any('tool') })
    expect((await shell.run('tool')).stdout).toBe('first\n')
    renameSync(ground.sh('other', 'echo other'), join(ground.bin, 'tool'))
    await expect(shell.run('tool')).rejects.toEqual(denied(/has changed since/))
    await expect(shell.run('tool'), 'it stays refused').rejects.toEqual(denied(/has changed since/))
    expect((await run('tool')).stdout).toBe('other\n')
  })

  it('is denied after a write that keeps size and time', async () => {
    const path = ground.sh('tool', 'echo first')
    utimesSync(path, 1_000_000, 1_000_000)
    const { shell } = ground.open({ shell: any('tool') })
    await shell.run('tool')
    const { ino, mtimeNs, size } = statSync(path, { bigint: true })
    ground.sh('tool', 'echo twist')
    utimesSync(path, 1_000_000, 1_000_000)
    expect(statSync(path, { bigint: true })).toMatchObject({ ino, mtimeNs, size })
    await expect(shell.run('tool')).rejects.toEqual(denied(/has changed since/))
  })

  it('is allowed after a new hard link and denied after a write', async () => {
    const path = ground.sh('tool', 'echo first')
    utimesSync(path, 1_000_000, 1_000_000)
    const { shell } = ground.open({ shell: any('tool') })
    await shell.run('tool')
    const { ctimeNs } = statSync(path, { bigint: true })
    linkSync(path, join(ground.root, 'another-name'))
    expect(statSync(path, { bigint: true }).ctimeNs).toBeGreaterThan(ctimeNs)
    for (let again = 0; again < 2; again++) expect((await shell.run('tool')).stdout).toBe('first\n')
    ground.sh('tool', 'echo twist')
    utimesSync(path, 1_000_000, 1_000_000)
    await expect(shell.run('tool')).rejects.toEqual(denied(/has changed since/))
  })

  it('is denied if its link leads elsewhere', async () => {
    const link = join(ground.bin, 'tool')
    symlinkSync(ground.sh('one', 'echo one'), link)
    const { shell } = ground.open({ shell: any('tool') })
    await shell.run('tool')
    unlinkSync(link)
    symlinkSync(ground.sh('two', 'echo two'), link)
    await expect(shell.run('tool')).rejects.toEqual(denied(/has changed since/))
  })

  it('is denied after it is removed', async () => {
    const path = ground.sh('tool', 'echo first')
    const { shell } = ground.open({ shell: any('tool') })
    await shell.run('tool')
    unlinkSync(path)
    await expect(shell.run('tool')).rejects.toEqual(denied(/has changed since/))
  })

  it('stays the same if an earlier folder gets a program of that name', async () => {
    const front = join(ground.root, 'front')
    mkdirSync(front)
    ground.sh('tool', 'echo first')
    const { shell } = ground.open({ shell: any('tool') }, { path: [front, ground.bin] })
    await shell.run('tool')
    ground.command('tool', '#!/bin/sh\necho front\n', front)
    expect((await shell.run('tool')).stdout).toBe('first\n')
  })
})
