import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { gitIn, repositoryIn, writeIn } from '../../git/test/repository.ts'

export const root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-remote-')))
afterAll(() => rmSync(root, { recursive: true }))

/** A repository with three commits, a tag, another branch, a link, hooks and attributes. */
function source(folder: string): string {
  repositoryIn(folder, { 'a.txt': 'one\n', '.gitattributes': '*.txt filter=lfs\n' })
  symlinkSync('/etc/passwd', join(folder, 'link'))
  writeIn(folder, 'a.txt', 'two\n')
  gitIn(folder, 'add', '-A')
  gitIn(folder, 'commit', '-qm', 'second')
  gitIn(folder, 'tag', 'v1')
  gitIn(folder, 'branch', 'topic/x')
  writeIn(folder, 'a.txt', 'three\n')
  gitIn(folder, 'commit', '-qam', 'third')
  return folder
}
export const work = source(join(root, 'work'))
gitIn(root, 'clone', '-q', '--bare', 'work', 'bare.git')
gitIn(root, 'init', '-q', '--bare', 'empty.git')
export const [third = '', second = ''] = gitIn(work, 'log', '--format=%H').split('\n')

/** `git http-backend` behind a server. */
export function backend(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url!, 'http://host')
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'], GIT_PROJECT_ROOT: root, GIT_HTTP_EXPORT_ALL: '1', PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1), REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '', GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*',
    },
  })
  request.pipe(child.stdin)
  const parts: Buffer[] = []
  child.stdout.on('data', (part: Buffer) => parts.push(part))
  child.on('close', () => {
    const whole = Buffer.concat(parts)
    const end = whole.indexOf('\r\n\r\n')
    const headers = whole
      .toString('latin1', 0, Math.max(0, end))
      .split('\r\n')
      .map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string])
    const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200'
    response.writeHead(Number.parseInt(status, 10), Object.fromEntries(headers.filter(([name]) => name !== 'Status')))
    response.end(whole.subarray(end + 4))
  })
}


/** Objects that git itself would not write. Returns the commit. */
export function hostile(folder: string, name: string): string {
  const object =
    (type: string, ...args: readonly string[]) =>
    (content: Buffer): string =>
      execFileSync('git', ['hash-object', '-w', '-t', type, '--stdin', ...args], {
        cwd: folder, input: content, encoding: 'utf8',
      }).trim()
  const blob = object('blob')(Buffer.from('#!/bin/sh\n'))
  const tree = object('tree', '--literally')(Buffer.concat([Buffer.from(`100755 ${name}\0`), Buffer.from(blob, 'hex')]))
  const commit = gitIn(folder, 'commit-tree', '-m', 'hostile', tree).trim()
  gitIn(folder, 'update-ref', 'refs/heads/main', commit)
  return commit
}
