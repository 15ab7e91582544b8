import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { ONLY_IN_SOAK } from '../../../../scripts/thoroughly.ts'
import { Editor } from './editor.ts'
import { World, type WorldOptions } from './world.ts'

let world: World
let editor: Editor
beforeEach(() => {
  world = new World()
  editor = new Editor()
})
afterEach(() => world.end())

const ALL = { fs: { readTextFile: true, writeTextFile: true }, terminal: true }
const open = (more: WorldOptions = {}) =>
  world.open({ person: () => 'allow_once', capabilities: ALL, client: editor.serve, ...more })
const inWork = (name: string): string => join(world.workspace, name)

describe('files of an editor', () => {
  it('are read as they are in the editor, saved or not', async () => {
    await open()
    writeFileSync(inWork('a.txt'), 'saved\n')
    editor.unsaved.set(inWork('a.txt'), 'unsaved\nlonger than on the disk\n')
    editor.unsaved.set(inWork('new.txt'), 'never saved')
    const outcomes = await world.call(
      ['read', { path: 'a.txt', offset: 2 }], ['read', { path: 'a.txt', byte_start: 0, byte_end: 100 }],
      ['read', { path: 'new.txt' }], ['read', { path: 'none.txt' }],
    )
    expect(outcomes).toMatchObject([
      { data: { content: 'longer than on the disk\n' } },
      { data: { content: 'unsaved\nlonger than on the disk\n', bytes: { total: 32 } } },
      { data: { content: 'never saved' } }, { error: { code: 'NotFound' } },
    ])
  })

  it('are written through the editor, with a diff of the whole file', async () => {
    await open()
    writeFileSync(inWork('a.txt'), 'old')
    editor.unsaved.set(inWork('a.txt'), 'older')
    await world.call(['write', { path: 'a.txt', content: 'new' }], ['write', { path: 'deep/b.txt', content: 'b' }])
    expect(editor.written).toEqual([inWork('a.txt'), inWork('deep/b.txt')])
    expect(readFileSync(inWork('deep/b.txt'), 'utf8')).toBe('b')
    expect(world.outcomes).toMatchObject([
      { data: { bytes: 3, created: false } }, { data: { bytes: 1, created: true } },
    ])
    expect(world.of('c1').at(-1)).toMatchObject({
      status: 'completed', content: [{ type: 'diff', path: inWork('a.txt'), oldText: 'older', newText: 'new' }],
    })
    expect(world.of('c2').at(-1)).toMatchObject({
      content: [{ type: 'diff', path: inWork('deep/b.txt'), oldText: null, newText: 'b' }],
    })
  })

  it('are edited in the editor', async () => {
    await open()
    writeFileSync(inWork('a.txt'), 'one')
    editor.unsaved.set(inWork('a.txt'), 'one two')
    await world.call(['edit', { path: 'a.txt', old_string: 'two', new_string: '2' }])
    expect(world.outcomes).toMatchObject([{ data: { replacements: 1, diff: expect.stringContaining('+one 2') } }])
    expect(readFileSync(inWork('a.txt'), 'utf8')).toBe('one 2')
    expect(editor.written).toEqual([inWork('a.txt')])
  })

  it('are those of the disk if they are binary', async () => {
    await open()
    writeFileSync(inWork('a.bin'), Buffer.from([1, 0, 255]))
    expect(await world.call(['read', { path: 'a.bin', byte_start: 0, byte_end: 3 }])).toMatchObject([
      { type: 'output' },
    ])
    expect(editor.read).toEqual([])
  })

  it('are those of the disk if the editor cannot read', async () => {
    await open({ capabilities: { fs: { writeTextFile: true } } })
    writeFileSync(inWork('a.txt'), 'disk')
    editor.unsaved.set(inWork('a.txt'), 'editor')
    expect(await world.call(['read', { path: 'a.txt' }])).toMatchObject([{ data: { content: 'disk' } }])
    await world.call(['edit', { path: 'a.txt', old_string: 'disk', new_string: 'disc' }])
    expect([editor.read, editor.written]).toEqual([[], []])
  })

  it('outside the grant, behind a link or in a protected place never reach the editor', async () => {
    await open({ host: { config: { mode: 'yolo' } } })
    mkdirSync(inWork('.git/hooks'), { recursive: true })
    mkdirSync(join(world.folder, 'outside'))
    writeFileSync(join(world.folder, 'outside/secret.txt'), 'secret')
    symlinkSync(join(world.folder, 'outside'), inWork('link'))
    const outcomes = await world.call(
      ['read', { path: '../outside/secret.txt' }], ['read', { path: 'link/secret.txt' }],
      ['read', { path: '/etc/passwd' }], ['write', { path: 'link/new.txt', content: 'x' }],
      ['write', { path: '.git/hooks/pre-commit', content: 'x' }],
      ['edit', { path: 'link/secret.txt', old_string: 'secret', new_string: 'x' }],
    )
    expect(outcomes.map(({ type }) => type)).toEqual(Array.from({ length: 6 }, () => 'error'))
    expect([editor.read, editor.written]).toEqual([[], []])
    expect(existsSync(join(world.folder, 'outside/new.txt'))).toBe(false)
  })
})

describe('the terminal of an editor', () => {
  // The launcher cannot run in it: its commands are not shown there.
  it('runs approved commands, and the editor shows them', {
    ...needs('bubblewrap'), tags: ['walls', 'long'],
  }, async () => {
    await open()
    const outcomes = await world.call(
      ['bash', { command: 'touch made.txt && mkdir -v deep' }], ['bash', { command: 'rmdir nowhere' }],
    )
    expect(outcomes).toMatchObject([
      { data: { stdout: expect.stringContaining('deep'), exit_code: 0 } },
      { data: { stdout: expect.stringContaining('nowhere'), exit_code: 1 } },
    ])
    expect(existsSync(inWork('made.txt'))).toBe(true)
    // Behind a wall where one stands.
    const programs = /\/(?:touch|mkdir|rmdir)$/
    expect(
      editor.commands.map(({ command, args = [] }) =>
        basename([command, ...args].find((word) => programs.test(word)) ?? ''),
      ),
    ).toEqual(['touch', 'mkdir', 'rmdir'])
    expect(editor.commands[0]).toMatchObject({
      sessionId: 's1', cwd: world.workspace,
      command: expect.stringMatching(/^\//),
    })
    expect(editor.released).toEqual(['t1', 't2', 't3'])
    expect(world.of('c1').at(-1)).toMatchObject({
      status: 'completed', content: [{ type: 'terminal', terminalId: 't1' }, { type: 'terminal', terminalId: 't2' }],
    })
  })

  it(
    'runs opaque commands in our sandbox, and kills one that takes too long',
    { ...needs('bubblewrap'), ...ONLY_IN_SOAK },
    async () => {
      await open()
      const outcomes = await world.call(
        // The sandbox has its own /tmp.
        ['bash', { command: 'sh -c "touch made.txt; touch ../outside.txt"' }],
        ['bash', { command: 'sh -c "sleep 60"', timeout_ms: 200 }],
      )
      expect(outcomes).toMatchObject([
        { data: { exit_code: 0 } }, { data: { exit_code: null, signal: 'SIGTERM', timed_out: true } },
      ])
      expect([existsSync(inWork('made.txt')), existsSync(join(world.folder, 'outside.txt'))]).toEqual([true, false])
      expect(editor.commands.map(({ command }) => basename(command))).toEqual(['bwrap', 'bwrap'])
      expect(editor.released).toEqual(['t1', 't2'])
    },
  )

  it(
    'gets no command that is rejected, that only reads, or whose streams a terminal does not have', ONLY_IN_SOAK,
    async () => {
      await open({
        person: ({ toolCall }) => (JSON.stringify(toolCall).includes('rejected') ? 'reject_once' : 'allow_once'),
      })
      await world.call(
        ['bash', { command: 'touch rejected.txt' }], ['bash', { command: 'ls' }],
        ['bash', { command: 'echo 1 > out.txt' }], ['bash', { command: 'mkdir -v deep | cat' }],
      )
      expect(world.outcomes.map(({ type }) => type)).toEqual(['error', 'output', 'output', 'output'])
      expect(editor.commands).toEqual([])
      expect(readFileSync(inWork('out.txt'), 'utf8')).toBe('1\n')
    },
  )
})
