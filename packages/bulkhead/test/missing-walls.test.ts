import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, Diagnostic } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
let home: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-walls-'))
  home = join(folder, 'home')
  mkdirSync(home)
  writeExtension(home, { id: 'hello', tools: [{ name: 'hello' }] }, 'export default { tools: { hello: { execute: () => "hi" } } }')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Covers bubblewrap by a file without execute permission, in a mount namespace of the command's own. */
const HIDDEN = ['/usr/bin/bwrap', '/bin/bwrap'].filter((path) => existsSync(path)).slice(0, 1)
  .flatMap((path) => ['unshare', '--mount', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']),
    'sh', '-c', `mount --bind /dev/null ${path} && exec "$@"`, 'sh'])
const [file = 'true', ...rest] = [...HIDDEN, 'true']
const canHide = process.platform === 'linux' && spawnSync(file, rest).status === 0

interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The real command on a machine without bubblewrap. */
function bulkhead(args: readonly string[], config: ConfigFile = {}): Ran {
  writeFileSync(join(home, 'config.json'), JSON.stringify(config))
  const [program = '', ...argv] = [...HIDDEN, process.execPath, join(import.meta.dirname, '../src/bin.ts'), ...args, '--home', home]
  return spawnSync(program, argv, { cwd: folder, encoding: 'utf8', env: { NO_COLOR: '1', HOME: home, PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] } })
}

describe.runIf(canHide)('on a machine without bubblewrap', () => {
  it('a call of a third-party tool warns in one line which protection is missing and what is used instead', () => {
    const { status, stdout, stderr } = bulkhead(['call', 'hello', '--mode', 'yolo'])
    expect([status, stdout]).toEqual([0, 'hi\n'])
    expect(stderr).toMatch(/^Warning: Third-party tools run without bubblewrap \(bwrap is not installed\), a seccomp filter\. .*Install bubblewrap.*\n$/)
    expect(stderr).toContain('Instead, setpriv')
  })

  it('a call of a bundled tool that starts no process does not warn', () => {
    writeFileSync(join(folder, 'note.txt'), 'hi')
    expect(bulkhead(['call', 'read', '--mode', 'yolo', '--args', '{"file_path":"note.txt"}'])).toMatchObject({ status: 0, stderr: '' })
  })

  it('a command that would be sandboxed warns that it is not', () => {
    const { status, stderr } = bulkhead(['call', 'bash', '--mode', 'yolo', '--args', '{"command":"ls"}'])
    expect(status).toBe(0)
    expect(stderr).toMatch(/^Warning: Commands run without a sandbox, .*\n$/)
  })

  it('the list of tools has a diagnostic', () => {
    const { diagnostics } = JSON.parse(bulkhead(['tools', '--json']).stdout) as { readonly diagnostics: readonly Diagnostic[] }
    expect(diagnostics.filter(({ stage }) => stage !== 'lock')).toMatchObject([{
      severity: 'warning', code: 'CapabilityUnavailable', path: '/sandbox/os', message: expect.stringMatching(/^Third-party tools run without bubblewrap/),
    }])
  })

  const bash = ['ls', 'touch made', 'for i in 1; do touch made; done'].map((command) => ['bash', JSON.stringify({ command })] as const)
  it.each([['hello', '{}'] as const, ...thoroughly([], bash)])('sandbox.os "require" refuses %s %s', (tool, args) => {
    const { status, stdout } = bulkhead(['call', tool, '--json', '--mode', 'yolo', '--args', args], { sandbox: { os: 'require' } })
    expect([status, JSON.parse(stdout)]).toMatchObject([1, { error: { code: 'CapabilityUnavailable' } }])
    expect(existsSync(join(folder, 'made'))).toBe(false)
  })
})
