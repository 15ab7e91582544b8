// @module-tag git
import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readArguments } from '../repo-clone.ts'
import { gitIn, repositoryIn, writeIn } from '../../git/test/repository.ts'
import { LONG, ONLY_IN_SOAK, thoroughly } from '../../../../../scripts/thoroughly.ts'
import { toolSession } from '../../../test/tool-session.ts'
import { serve } from '../../../test/loopback.ts'
import { backend, hostile, root, second, third, work } from './remote-repositories.ts'

let answer: (request: IncomingMessage, response: ServerResponse) => void = backend
const server = await serve((request, response) => answer(request, response))
const url = `${server.base}/bare.git`
const session = toolSession('repo_clone', {}, { bundled: { fetchHosts: [server.place] } })
let made = 0
const target = () => `c${++made}`
const inside = (path: string, ...names: readonly string[]) => join(session.workspace, path, ...names)
const log = (path: string): string => gitIn(inside(path), 'log', '--format=%s').trim().replaceAll('\n', ' ')

const noSuchCommit = {
  code: 'NotFound', message: `The repository has no commit ${'1'.repeat(40)}. Check it, or leave out "commit".`,
}

describe('over http', () => {
  it('clones the default branch, all branches and tags, and sends nothing but the request', async () => {
    server.requests.length = 0
    const path = target()
    expect(await session.call({ url, path })).toEqual({ path, commit: third, branch: 'main' })
    expect(
      server.requests.map(({ method, url: requested, headers }) => [
        method, requested, headers['authorization'], headers['cookie'],
      ]),
    ).toEqual([
      ['GET', '/bare.git/info/refs?service=git-upload-pack', undefined, undefined],
      ['POST', '/bare.git/git-upload-pack', undefined, undefined],
      ['POST', '/bare.git/git-upload-pack', undefined, undefined],
    ])
    expect([
      log(path), readFileSync(inside(path, 'a.txt'), 'utf8'), gitIn(inside(path), 'status', '--porcelain', '--branch'),
    ]).toEqual(['third second first', 'three\n', '## main...origin/main\n'])
    expect(gitIn(inside(path), 'for-each-ref', '--format=%(refname)').trim().split('\n')).toEqual([
      'refs/heads/main', 'refs/remotes/origin/main', 'refs/remotes/origin/topic/x', 'refs/tags/v1',
    ])
    expect(gitIn(inside(path), 'remote', 'get-url', 'origin')).toBe(`${url}\n`)
    // A link is a file, and nothing of the download is left.
    expect([lstatSync(inside(path, 'link')).isFile(), readFileSync(inside(path, 'link'), 'utf8')]).toEqual([
      true, '/etc/passwd',
    ])
    expect([readdirSync(inside(path)).toSorted(), existsSync(inside(path, '.git/hooks'))]).toEqual([
      ['.git', '.gitattributes', 'a.txt', 'link'], false,
    ])
    gitIn(inside(path), 'fsck', '--strict')
  })

  it('checks out a pinned commit, and only that', async () => {
    const path = target()
    expect(await session.call({ url, path, commit: second, depth: 1 })).toEqual({
      path, commit: second, branch: null, depth: 1,
    })
    expect([
      log(path), readFileSync(inside(path, 'a.txt'), 'utf8'),
      gitIn(inside(path), 'rev-parse', '--is-shallow-repository'),
    ]).toEqual(['second', 'two\n', 'true\n'])
    const missing = target()
    expect(await session.refusal({ url, path: missing, commit: '1'.repeat(40) })).toMatchObject(noSuchCommit)
    expect(existsSync(inside(missing))).toBe(false)
  })

  it('clones as many commits as asked', ONLY_IN_SOAK, async () => {
    const path = target()
    expect(await session.call({ url, path, depth: 2 })).toEqual({ path, commit: third, branch: 'main', depth: 2 })
    expect([log(path), gitIn(inside(path), 'rev-parse', '--is-shallow-repository')]).toEqual(['third second', 'true\n'])
  })

  it.each<[string, typeof answer, string, string]>([
    ['does not exist', (_, response) => response.writeHead(404).end(), 'NotFound', 'does not exist'],
    ['requires a sign-in', (_, response) => response.writeHead(401).end(), 'ToolExecutionFailed', 'sign-in'],
    ['is no repository', (_, response) => response.end('<html>'), 'ToolExecutionFailed', 'version 2'],
    [
      'redirects to another host',
      (_, response) => response.writeHead(302, { location: 'https://example.org/x/info/refs' }).end(),
      'ToolExecutionFailed', 'https://example.org',
    ],
    [
      'redirects to itself', ({ url: location }, response) => response.writeHead(302, { location }).end(),
      'ToolExecutionFailed', 'redirects more than 3 times',
    ],
    [
      'ends in the middle',
      (request, response) => {
        if (request.method === 'GET') backend(request, response)
        else response.end('00ff')
      },
      'ToolExecutionFailed', 'incomplete',
    ],
    [
      'sends other objects',
      (request, response) => {
        const chunks: Buffer[] = []
        const end = response.end.bind(response)
        response.end = ((chunk: Buffer) => {
          chunks.push(chunk)
          const at = chunk.indexOf('PACK')
          if (at > 0) chunk.writeUInt8(chunk[at + 20]! ^ 0xff, at + 20)
          return end(chunk)
        }) as typeof response.end
        backend(request, response)
      },
      'ToolExecutionFailed', 'check the objects',
    ],
  ])('leaves nothing behind if the server %s', async (_, fault, code, message) => {
    answer = fault
    const path = target()
    try {
      expect(await session.refusal({ url, path })).toMatchObject({
        code, message: expect.stringContaining(message) as string,
      })
    } finally {
      answer = backend
    }
    expect(existsSync(inside(path))).toBe(false)
  })

  it('clones up to 32 MB', ONLY_IN_SOAK, async () => {
    const large = repositoryIn(join(root, 'large'), {})
    writeFileSync(join(large, 'random'), randomBytes(20 * 1024 * 1024))
    gitIn(large, 'add', '.')
    gitIn(large, 'commit', '-qm', 'large')
    const path = target()
    expect(await session.call({ url: `${server.base}/large/.git`, path })).toMatchObject({ branch: 'main' })
    expect(readFileSync(inside(path, 'random')).equals(readFileSync(join(large, 'random')))).toBe(true)
    writeFileSync(join(large, 'random'), randomBytes(20 * 1024 * 1024))
    gitIn(large, 'commit', '-qam', 'larger')
    expect(await session.refusal({ url: `${server.base}/large/.git`, path: target() })).toMatchObject({
      code: 'ToolExecutionFailed', message: expect.stringContaining('"depth": 1') as string,
    })
    expect(await session.call({ url: `${server.base}/large/.git`, path: target(), depth: 1 })).toMatchObject({
      depth: 1,
    })
  })

  it('reports an empty repository', async () => {
    expect(await session.refusal({ url: `${server.base}/empty.git`, path: target() })).toMatchObject({
      code: 'NotFound', message: expect.stringContaining('no commits') as string,
    })
  })

  it('reaches only hosts of the grant', async () => {
    expect(await session.refusal({ url: 'https://127.0.0.1:1/x', path: target() })).toMatchObject({
      code: 'CapabilityDenied',
    })
    expect(await session.refusal({ url: 'https://example.org/x', path: target() })).toMatchObject({
      code: 'CapabilityDenied',
    })
  })

  it('ignores names that a server must not use', async () => {
    answer = (request, response) => {
      const end = response.end.bind(response)
      // The names keep their length.
      response.end = ((chunk: Buffer) =>
        end(
          Buffer.from(
            chunk
              .toString('latin1')
              .replace('refs/heads/topic/x', 'refs/heads/to..c/x')
              .replace('refs/tags/v1', 'refs/tags/\n1'),
            'latin1',
          ),
        )) as typeof response.end
      backend(request, response)
    }
    const path = target()
    try {
      await session.call({ url, path })
    } finally {
      answer = backend
    }
    expect(gitIn(inside(path), 'for-each-ref', '--format=%(refname)').trim().split('\n')).toEqual([
      'refs/heads/main', 'refs/remotes/origin/main',
    ])
  })
})

it.each(thoroughly(['.GIT'], ['.git', '.GIT', 'git~1', '..']))(
  'refuses a commit with a file named %s',
  async (name) => {
    const folder = join(root, `hostile${++made}.git`)
    gitIn(root, 'init', '-q', '--bare', '-b', 'main', folder)
    hostile(folder, name)
    const path = target()
    expect(await session.refusal({ url: `${server.base}/${basename(folder)}`, path })).toMatchObject({
      code: 'ToolExecutionFailed', message: expect.stringContaining('check the objects') as string,
    })
    gitIn(session.workspace, 'clone', '-q', '--bare', folder, `${path}.git`)
    expect(await session.refusal({ url: `file://${inside(`${path}.git`)}`, path })).toMatchObject({
      code: 'ToolExecutionFailed',
    })
    expect(existsSync(inside(path))).toBe(false)
  },
)

describe('from a file', () => {
  const bare = () => {
    if (!existsSync(inside('bare.git'))) gitIn(session.workspace, 'clone', '-q', '--bare', work, 'bare.git')
    return `file://${inside('bare.git')}`
  }

  it('clones a bare repository, its depth and a pinned commit', LONG, async () => {
    const [whole, pinned] = [target(), target()]
    expect(await session.call({ url: bare(), path: whole })).toEqual({ path: whole, commit: third, branch: 'main' })
    expect([log(whole), gitIn(inside(whole), 'status', '--porcelain', '--branch')]).toEqual([
      'third second first', '## main...origin/main\n',
    ])
    expect(await session.call({ url: bare(), path: pinned, commit: second, depth: 1 })).toEqual({
      path: pinned, commit: second, branch: null, depth: 1,
    })
    expect([log(pinned), lstatSync(inside(pinned, 'link')).isFile()]).toEqual(['second', true])
    if (!thoroughly(false, true)) return
    const [shallow, later] = [target(), target()]
    expect(await session.call({ url: bare(), path: shallow, depth: 1 })).toMatchObject({ commit: third })
    expect(await session.call({ url: bare(), path: later, commit: second })).toEqual({
      path: later, commit: second, branch: null,
    })
    expect([log(shallow), log(later)]).toEqual(['third', 'second first'])
  })

  it('refuses repositories outside the workspace, and those that lead there', async () => {
    expect(await session.refusal({ url: `file://${join(root, 'bare.git')}`, path: target() })).toMatchObject({
      code: 'CapabilityDenied',
    })
    mkdirSync(inside('leads'), { recursive: true })
    gitIn(inside('leads'), 'init', '-q')
    writeIn(inside('leads'), '.git/objects/info/alternates', join(root, 'bare.git/objects'))
    expect(await session.refusal({ url: `file://${inside('leads')}`, path: target() })).toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining('alternates') as string,
    })
  })

  it('removes the folder if the commit is missing', LONG, async () => {
    const path = target()
    expect(await session.refusal({ url: bare(), path, commit: '1'.repeat(40) })).toMatchObject(noSuchCommit)
    expect(existsSync(inside(path))).toBe(false)
  })
})

describe('arguments', () => {
  it('name a repository', async () => {
    mkdirSync(inside('no-repository'))
    expect(await session.refusal({ url: `file://${inside('no-repository')}`, path: target() })).toMatchObject({
      code: 'NotFound', message: expect.stringContaining('Pass the URL of a repository.') as string,
    })
  })

  it.each([
    ['ssh://git@host/x', 'not an https'], ['ext::sh -c id', 'not an https'], ['git@host:x/y', 'not an https'],
    ['http://example.org/x', 'not an https'], ['file://host/x', 'not an https'],
    ['https://me:pw@example.org/x', 'password'], ['https://example.org/x?y', 'query'],
  ])('refuses %s', async (given, message) => {
    expect(await session.refusal({ url: given, path: target() })).toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining(message) as string,
    })
  })

  it('refuses folders that exist, links, and places outside the workspace', async () => {
    mkdirSync(inside('exists'))
    symlinkSync('/nowhere', inside('dangling'))
    writeFileSync(inside('file'), '')
    for (const path of ['exists', 'exists/', 'dangling', 'file']) {
      expect(await session.refusal({ url, path })).toMatchObject({
        code: 'InputInvalid', message: expect.stringContaining('exists already') as string,
      })
    }
    for (const path of ['../out', '/tmp/out', 'exists/../..'])
      expect(await session.refusal({ url, path })).toMatchObject({
        code: expect.stringMatching(/CapabilityDenied|InputInvalid/) as string,
      })
    expect(existsSync(join(session.workspace, '../out'))).toBe(false)
  })

  it('have the host as approval key, and name what is touched', () => {
    const read = (args: Parameters<typeof readArguments>[0]) => readArguments(args, { workspace: '/w' })
    expect(read({ url: 'https://example.org/a/b', path: 'lib/b' })).toMatchObject({
      key: 'example.org', touches: ['reach example.org', 'write /w/lib/b'], denies: [],
      needs: [{ kind: 'fs.write', subject: '/w/lib/b' }, { kind: 'net', subject: 'example.org:443' }],
    })
    expect(read({ url: 'file:///w/a%20b', path: 'x' })).toMatchObject({
      key: 'file', touches: ['read /w/a b', 'write /w/x'], effects: { net: false },
    })
    expect(read({ url: 'https://example.org/a', path: '../x' }).denies).toEqual([
      'the folder ../x is outside the workspace',
    ])
    expect(read({ url: 'https://example.org/a', path: '.git/x' }).denies).toHaveLength(1)
  })
})
