import {
  chmodSync, linkSync, mkdirSync, renameSync, statSync, symlinkSync, unlinkSync, utimesSync, writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { UntrustedFolders } from '../../src/process/executable.ts'
import { any, ShellSetup } from '../shell/shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())

const denied = (why: RegExp) =>
  expect.objectContaining({ code: 'CapabilityDenied', message: expect.stringMatching(why) })
const run = (cmd: string, options = {}, grant = {}) => setup.open({ shell: any(cmd), ...grant }, options).shell.run(cmd)

describe('the search for a command', () => {
  it('does not find a command that is only in the workspace', async () => {
    setup.command('mine', '#!/bin/sh\necho mine', setup.workspace)
    await expect(run('mine')).rejects.toMatchObject({ code: 'NotFound' })
  })

  it('does not find a command that is only in PATH of the host', async () => {
    const elsewhere = join(setup.root, 'elsewhere')
    mkdirSync(elsewhere)
    setup.command('hosts-own', '#!/bin/sh\necho hosts', elsewhere)
    const before = process.env['PATH']
    process.env['PATH'] = `${elsewhere}:${before}`
    try {
      await expect(run('hosts-own')).rejects.toMatchObject({ code: 'NotFound' })
    } finally {
      process.env['PATH'] = before
    }
  })

  it('returns the first program of that name and skips folders and plain files', LONG, async () => {
    const first = join(setup.root, 'first')
    const second = join(setup.root, 'second')
    for (const folder of [first, second]) mkdirSync(folder)
    mkdirSync(join(first, 'tool'))
    writeFileSync(join(second, 'tool'), '#!/bin/sh\necho not executable')
    setup.sh('tool', 'echo found')
    expect((await run('tool', { path: [first, second, setup.bin] })).stdout).toBe('found\n')
  })

  it('finds a program that is installed later', async () => {
    const { shell } = setup.open({ shell: any('late') })
    await expect(shell.run('late')).rejects.toMatchObject({ code: 'NotFound' })
    setup.sh('late', 'echo here')
    expect((await shell.run('late')).stdout).toBe('here\n')
  })

  it.each(['bin', './bin', '', '/bin:/usr/bin'])('rejects "%s" as a folder of the list', (folder) => {
    expect(() => setup.open({}, { path: [folder] })).toThrow(expect.objectContaining({ code: 'ConfigInvalid' }))
  })
})

describe('a program', () => {
  it('in the workspace is denied, even if PATH contains the folder', async () => {
    setup.command('mine', '#!/bin/sh\necho mine', setup.workspace)
    await expect(run('mine', { path: [setup.workspace] })).rejects.toEqual(denied(/tools can write/))
  })

  it('behind a link into the workspace is denied', async () => {
    symlinkSync(setup.command('target', '#!/bin/sh\necho mine', setup.workspace), join(setup.bin, 'linked'))
    await expect(run('linked')).rejects.toEqual(denied(/tools can write/))
  })

  it('behind a link that passes through the workspace is denied', async () => {
    symlinkSync('/bin/sh', join(setup.workspace, 'hop'))
    symlinkSync(join(setup.workspace, 'hop'), join(setup.bin, 'linked'))
    await expect(run('linked')).rejects.toEqual(denied(/tools can write/))
  })

  it('behind a folder that is a link in the workspace is denied', async () => {
    symlinkSync('/bin', join(setup.workspace, 'folder'))
    symlinkSync('../workspace/folder/../bin/sh', join(setup.bin, 'linked'))
    await expect(run('linked')).rejects.toEqual(denied(/tools can write/))
  })

  it('in a workspace that is opened through a link is denied', async () => {
    const alias = join(setup.root, 'alias')
    symlinkSync(setup.workspace, alias)
    setup.command('mine', '#!/bin/sh\necho mine', setup.workspace)
    await expect(run('mine', { workspace: alias, path: [setup.workspace] })).rejects.toEqual(denied(/tools can write/))
  })

  it.each(['', '/*.txt', '/**'])('where a tool of the compartment may write is denied: %s', async (rest) => {
    setup.sh('written', 'echo written')
    const fs = { read: [], write: [`${setup.bin}${rest}`] }
    await expect(run('written', {}, { fs })).rejects.toEqual(denied(/tools can write/))
  })

  it('is denied anywhere if a tool of the compartment may write everywhere', async () => {
    setup.sh('written', 'echo written')
    await expect(run('written', {}, { fs: { read: [], write: ['/**'] } })).rejects.toEqual(denied(/tools can write/))
  })

  it('is allowed in a sibling folder that shares a prefix with the workspace', async () => {
    const beside = `${setup.workspace}-tools`
    mkdirSync(beside)
    setup.command('beside', '#!/bin/sh\necho beside', beside)
    expect((await run('beside', { path: [beside] })).stdout).toBe('beside\n')
  })

  it('is allowed behind a link between system folders, and runs under the name of the link', async () => {
    const real = setup.sh('real', 'echo "${0##*/}"')
    symlinkSync(real, join(setup.bin, 'alias'))
    expect((await run('alias')).stdout).toBe('alias\n')
  })

  it('behind circular links is not found', LONG, async () => {
    symlinkSync(join(setup.bin, 'b'), join(setup.bin, 'a'))
    symlinkSync(join(setup.bin, 'a'), join(setup.bin, 'b'))
    await expect(run('a')).rejects.toMatchObject({ code: 'NotFound' })
    await expect(new UntrustedFolders(['/nowhere']).reaches(join(setup.bin, 'a')))
      .rejects.toThrow('its path has too many links')
  })

  it.each([['setuid', 0o4755], ['setgid', 0o2755]])('with %s is denied', async (_, mode) => {
    chmodSync(setup.sh('other', 'id'), mode)
    await expect(run('other')).rejects.toEqual(denied(/another user or group/))
  })

  it('that is writable by all users is denied', async () => {
    chmodSync(setup.sh('open', 'id'), 0o777)
    await expect(run('open')).rejects.toEqual(denied(/written by anyone/))
  })

  it.each([
    ['plain text', 'echo from a shell\n'],
    ['an empty file', ''],
    ['a space before the interpreter line', ' #!/bin/sh\necho from a shell\n'],
  ])('that only a shell can run is denied: %s', async (_, content) => {
    setup.command('headless', content)
    await expect(run('headless')).rejects.toEqual(denied(/interpreter/))
  })
})

describe('a pinned command', () => {
  it('is denied if another file replaces it, until the next compartment', async () => {
    setup.sh('tool', 'echo first')
    const { shell } = setup.open({ shell: any('tool') })
    expect((await shell.run('tool')).stdout).toBe('first\n')
    renameSync(setup.sh('other', 'echo other'), join(setup.bin, 'tool'))
    await expect(shell.run('tool')).rejects.toEqual(denied(/has changed since/))
    await expect(shell.run('tool'), 'it stays refused').rejects.toEqual(denied(/has changed since/))
    expect((await run('tool')).stdout).toBe('other\n')
  })

  it('is denied after a write that keeps size and time', async () => {
    const path = setup.sh('tool', 'echo first')
    utimesSync(path, 1_000_000, 1_000_000)
    const { shell } = setup.open({ shell: any('tool') })
    await shell.run('tool')
    const { ino, mtimeNs, size } = statSync(path, { bigint: true })
    setup.sh('tool', 'echo twist')
    utimesSync(path, 1_000_000, 1_000_000)
    expect(statSync(path, { bigint: true })).toMatchObject({ ino, mtimeNs, size })
    await expect(shell.run('tool')).rejects.toEqual(denied(/has changed since/))
  })

  it('is allowed after a new hard link and denied after a write', async () => {
    const path = setup.sh('tool', 'echo first')
    utimesSync(path, 1_000_000, 1_000_000)
    const { shell } = setup.open({ shell: any('tool') })
    await shell.run('tool')
    const { ctimeNs } = statSync(path, { bigint: true })
    linkSync(path, join(setup.root, 'another-name'))
    expect(statSync(path, { bigint: true }).ctimeNs).toBeGreaterThan(ctimeNs)
    for (let again = 0; again < 2; again++) expect((await shell.run('tool')).stdout).toBe('first\n')
    setup.sh('tool', 'echo twist')
    utimesSync(path, 1_000_000, 1_000_000)
    await expect(shell.run('tool')).rejects.toEqual(denied(/has changed since/))
  })

  it('is denied if its link leads elsewhere', async () => {
    const link = join(setup.bin, 'tool')
    symlinkSync(setup.sh('one', 'echo one'), link)
    const { shell } = setup.open({ shell: any('tool') })
    await shell.run('tool')
    unlinkSync(link)
    symlinkSync(setup.sh('two', 'echo two'), link)
    await expect(shell.run('tool')).rejects.toEqual(denied(/has changed since/))
  })

  it('is denied after it is removed', async () => {
    const path = setup.sh('tool', 'echo first')
    const { shell } = setup.open({ shell: any('tool') })
    await shell.run('tool')
    unlinkSync(path)
    await expect(shell.run('tool')).rejects.toEqual(denied(/has changed since/))
  })

  it('stays the same if an earlier folder gets a program of that name', async () => {
    const front = join(setup.root, 'front')
    mkdirSync(front)
    setup.sh('tool', 'echo first')
    const { shell } = setup.open({ shell: any('tool') }, { path: [front, setup.bin] })
    await shell.run('tool')
    setup.command('tool', '#!/bin/sh\necho front\n', front)
    expect((await shell.run('tool')).stdout).toBe('first\n')
  })
})
