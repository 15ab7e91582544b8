import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import type { CompartmentSession } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { createSandbox } from '../src/index.ts'
import { invocation, refusal, requestOf, REMOTE, toolOf } from './fixture.ts'

const SOURCE = `
  import childProcess from 'node:child_process'
  import fs from 'node:fs'
  import { readFile, writeFile, stat, readdir, access, mkdir, rm } from 'node:fs/promises'
  import path from 'node:path'
  import { promisify } from 'node:util'
  const modules = {
    childProcess, fs, path, promisify, readFile, writeFile, stat, readdir, access, mkdir, rm,
    execFile: childProcess.execFile, spawn: childProcess.spawn,
  }
  const shared = {}
  const AsyncFunction = (async () => {}).constructor
  const names = [...Object.keys(modules), 'shared', 'args', 'runtime']
  const execute = ({ code, ...args }, runtime) =>
    new AsyncFunction(...names, code)(...Object.values(modules), shared, args, runtime)
  const codeOf = (work) => work().then(() => 'worked', (error) => error.code)
  const early = { fetch: await codeOf(() => fetch('http://localhost')), read: await codeOf(() => readFile('a.txt')) }
  try { process.env.LEVEL } catch (error) { early.env = error.code }
  export default { tools: { run: { execute }, bare: { execute }, early: { execute: () => early } } }
`
const REST = [{ rest: true }]

/** Answers with the request. `/slow` sends half of its body. */
const server = createServer((request, response) => {
  if (request.url === '/slow') return void response.write('half')
  if (request.url === '/away') return void response.writeHead(302, { location: '/there' }).end()
  response.writeHead(request.url === '/teapot' ? 418 : 200, {
    'content-type': request.headers['content-type'] ?? 'text/plain', 'x-seen': `${request.method} ${request.url}`,
  })
  pipeline(request, response, () => undefined)
})

describe.each(REMOTE.slice(0, thoroughly(1, 2)))('ordinary globals and modules in a %s', (placement) => {
  let folder: string
  let session: CompartmentSession
  let base: string
  let sandbox: ReturnType<typeof createSandbox>

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'shims-')))
    await writeFile(join(folder, 'a.txt'), 'caf\u00e9')
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
    const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
    base = `http://${place}`
    sandbox = createSandbox({ workspace: folder, spares: { process: 0, thread: 0 } })
    const requires = {
      net: { hosts: [place] }, fs: { read: ['{workspace}/**'], write: ['{workspace}/out/**'] },
      shell: ['cat', 'sh', 'pwd', 'false'].map((cmd) => ({ cmd, args: REST })),
    }
    session = await sandbox.open(requestOf({
      placement, source: SOURCE, tools: [toolOf('run', requires, folder), toolOf('bare'), toolOf('early')],
      services: { env: new Map([['LEVEL', 'high'], ['OTHER', 'x']]), envDeclared: new Set(['LEVEL', 'UNSET']) },
    }))
  })
  afterAll(async () => {
    server.closeAllConnections()
    const closed = new Promise((done) => void server.close(done))
    await Promise.all([sandbox.close(), closed, rm(folder, { recursive: true })])
  })

  const call = (code: string, tool = 'run'): Promise<Json> => session.call(invocation({ code, base }, { tool }))

  it('fetch as the standard says', async () => {
    expect(await call(`
      const response = await fetch(args.base + '/x', { method: 'post', body: new URLSearchParams({ a: '1 2' }) })
      const copy = response.clone()
      const { status, ok, redirected, headers, bodyUsed } = response
      const read = [bodyUsed, await response.text(), response.bodyUsed, await copy.text()]
      return [status, ok, redirected, headers.get('X-Seen'), headers.get('content-type'), ...read,
        await response.text().catch((error) => error.name)]
    `)).toEqual([
      200, true, false, 'POST /x', 'application/x-www-form-urlencoded;charset=UTF-8', false, 'a=1+2', true, 'a=1+2',
      'TypeError',
    ])
    expect(await call(`
      const form = new FormData()
      form.append('name', 'crow')
      form.append('file', new Blob(['a,b'], { type: 'text/csv' }), 'list.csv')
      const text = await (await fetch(new Request(args.base, { method: 'PUT', body: form }))).text()
      return text.replaceAll(/-{4}form-[\\da-f-]{36}/g, '').split('\\r\\n')
    `)).toEqual([
      '--', 'Content-Disposition: form-data; name="name"', '', 'crow',
      '--', 'Content-Disposition: form-data; name="file"; filename="list.csv"', 'Content-Type: text/csv', '', 'a,b',
      '----', '',
    ])
    expect(await call(`
      const pieces = await Array.fromAsync((await fetch(args.base, { method: 'POST', body: 'text' })).body)
      const moved = await fetch(args.base + '/away')
      const stop = new AbortController()
      const slow = await fetch(args.base + '/slow', { signal: stop.signal })
      setTimeout(() => stop.abort(), 20)
      return [
        Buffer.concat(pieces).toString(), moved.redirected, new URL(moved.url).pathname,
        (await fetch(args.base + '/teapot')).status, await slow.text().catch((error) => error.name),
        await fetch(args.base, { signal: AbortSignal.abort() }).catch((error) => error.name),
        await fetch(args.base + '/away', { redirect: 'error' }).catch((error) => error.message),
        await fetch('http://127.0.0.1:1').catch((error) => error.code),
        [...new Headers([['B', '1'], ['a', '2'], ['b', '3']])], await Response.json({ a: 1 }).json(),
      ]
    `)).toEqual([
      'text', true, '/there', 418, 'AbortError', 'AbortError', 'fetch failed', 'CapabilityDenied',
      [['a', '2'], ['b', '1, 3']], { a: 1 },
    ])
  })

  it('request by node:http what fetch would', async () => {
    expect(await call(`
      const { default: http } = await import('node:http')
      const { default: https } = await import('node:https')
      const ask = (work) => new Promise((resolve, reject) => {
        const request = work(async (response) => {
          response.setEncoding('utf8')
          const text = (await Array.fromAsync(response)).join('')
          resolve([response.statusCode, response.statusMessage, response.headers['x-seen'], text, response.complete])
        })
        request.on('error', (error) => resolve(error.code))
      })
      const { hostname, port } = new URL(args.base)
      const options = { hostname, port, path: '/form', method: 'post', headers: { 'Content-Type': 'text/x' } }
      return [
        await ask((done) => http.get(args.base + '/teapot', done)),
        await ask((done) => http.request(options, done).on('socket', (socket) => socket.setTimeout(9)).end('body')),
        await ask((done) => http.get(args.base + '/away', done)),
        await ask((done) => http.get('http://127.0.0.1:1', done)),
        await ask((done) => https.get('https://127.0.0.1', done)),
        await ask((done) => http.get(args.base + '/slow', { signal: AbortSignal.timeout(100) }, () => {})),
      ]
    `)).toEqual([
      [418, "I'm a Teapot", 'GET /teapot', '', true], [200, 'OK', 'POST /form', 'body', true],
      [302, 'Found', null, '', true], 'CapabilityDenied', 'CapabilityDenied', 'ABORT_ERR',
    ])
  })

  it('read and write files, as promises and with callbacks', async () => {
    expect(await call(`
      await mkdir('out/deep/er', { recursive: true })
      await writeFile(path.resolve('out/deep/b.txt'), Buffer.from('bytes'))
      const entries = await readdir('out/deep', { withFileTypes: true })
      const { size, mtime } = await stat('a.txt')
      await rm('out/deep/er', { recursive: true })
      const rejected = (work) => work.then(() => 'worked', (error) => error.code)
      return [
        await readFile('a.txt', 'utf8'), (await readFile('a.txt')).length, size, mtime instanceof Date,
        entries.map((entry) => [entry.name, entry.isDirectory()]), await readdir('out/deep'),
        await new Promise((done) => fs.readFile('a.txt', { encoding: 'latin1' }, (error, text) => done([error, text]))),
        await new Promise((done) => fs.stat('missing', (error) => done(error.code))),
        await promisify(fs.access)('a.txt'),
        await rejected(readFile('missing')), await rejected(mkdir('out/deep')), await rejected(mkdir('out/x/y')),
        await rejected(rm('out/none', { force: true })), await rejected(writeFile('b.txt', 'x')),
        await rejected(writeFile('out/b.txt', 'x', { flag: 'a' })), fs.statSync(process.cwd()).isDirectory(),
      ]
    `)).toEqual([
      'caf\u00e9', 5, 5, true, [['b.txt', false], ['er', true]], ['b.txt'], [null, 'caf\u00c3\u00a9'], 'ENOENT', null,
      'ENOENT', 'EEXIST', 'ENOENT', 'worked', 'CapabilityDenied', 'InputInvalid', true,
    ])
    expect(await readFile(join(folder, 'out/deep/b.txt'), 'utf8')).toBe('bytes')
  })

  it('remove a link, and not what it leads to', async () => {
    const outside = await realpath(await mkdtemp(join(tmpdir(), 'outside-')))
    onTestFinished(() => rm(outside, { recursive: true }))
    const [tree, kept] = [join(folder, 'out/tree'), join(folder, 'out/kept')]
    await Promise.all([tree, kept].map((path) => mkdir(join(path, 'deep'), { recursive: true })))
    await Promise.all([kept, outside].map((path) => writeFile(join(path, 'a.txt'), 'kept')))
    const targets = {
      'to-kept': kept, 'to-file': join(kept, 'a.txt'), 'to-outside': outside, 'up': '..', 'x-broken': '-',
    }
    for (const [name, target] of Object.entries(targets)) await symlink(target, join(tree, 'deep', name))
    for (const [name, target] of Object.entries(targets)) await symlink(target, join(folder, 'out', name))
    const removed = await call(`
      const paths = ['out/tree', 'out/to-kept', 'out/to-outside/', 'out/x-broken']
      const remove = [rm, promisify(fs.rm), fs.promises.rm, rm]
      const options = { recursive: true, force: true }
      return Promise.all(paths.map((path, index) => remove[index](path, options).then(() => true, String)))
    `)
    expect([await readdir(kept), await readdir(outside)]).toEqual([['a.txt', 'deep'], ['a.txt']])
    expect(removed).toEqual([true, true, true, true])
    expect((await readdir(join(folder, 'out'))).filter((name) => name !== 'deep')).toEqual(['kept', 'to-file', 'up'])
    expect(await call("return rm('out/none', { recursive: true }).catch((error) => error.code)")).toBe('ENOENT')
    await call("await Promise.all(['kept', 'to-file', 'up'].map((name) => rm('out/' + name, { recursive: true })))")
  })

  it('run commands with piped output', async () => {
    expect(await call(`
      const child = spawn('sh', ['-c', 'cat; echo oops >&2; exit 3'])
      child.stdin.write('in ')
      child.stdin.end('put')
      const seen = []
      child.stdout.setEncoding('utf8').on('data', (text) => seen.push(text))
      child.stderr.on('data', (bytes) => seen.push(String(bytes)))
      child.on('exit', (code) => seen.push(code))
      await new Promise((done) => child.on('close', done))
      const run = promisify(execFile)
      const failed = (work) => work.then(() => 'worked', (error) => [error.code, error.killed ?? false])
      return [
        seen, await run('cat', ['a.txt']), (await run('pwd', [], { cwd: process.cwd() })).stdout,
        await Array.fromAsync(spawn('cat', ['a.txt']).stdout, String), await failed(run('false')),
        await failed(run('sh', ['-c', 'sleep 5'], { timeout: 50 })), await failed(run('ls')),
      ]
    `)).toEqual([
      ['in put', 'oops\n', 3], { stdout: 'caf\u00e9', stderr: '' }, `${folder}\n`, ['caf\u00e9'], [1, false],
      [null, true],
      ['CapabilityDenied', false],
    ])
  })

  it('show the declared variables during a call', async () => {
    expect(await call(`
      const { LEVEL, UNSET = null, OTHER = null } = process.env
      return [LEVEL, UNSET, OTHER, { ...process.env }]
    `)).toEqual(['high', null, null, { LEVEL: 'high' }])
  })

  it('refuse every use outside a call, and say what is absent', async () => {
    const denied = 'CapabilityDenied'
    expect(await call('', 'early')).toEqual({ fetch: denied, read: denied, env: denied })
    expect(await refusal(call('await fetch(args.base)', 'bare'))).toMatchObject({
      code: 'CapabilityDenied',
      message: '`fetch` works only during a call of a tool that declares `net`. Declare it in the manifest, '
        + 'for example "requires": { "net": { "hosts": ["api.example.com"] } }, and use it inside `execute`.',
    })
    expect(await refusal(call('fs.createReadStream("a.txt")'))).toMatchObject({
      code: 'BuiltinDenied',
      message: '`createReadStream` of node:fs does not exist in a compartment, only readFile, writeFile, stat, '
        + 'readdir, access, mkdir, rm, statSync, constants, promises.',
    })
  })

  it('belong to the call they are used in, also while others run', async () => {
    const shares = call(`
      shared.fetch = () => fetch(args.base)
      shared.turn = Promise.withResolvers()
      const over = Promise.withResolvers()
      shared.over = over.resolve
      shared.turn.resolve()
      runtime.progress('ready')
      await over.promise
      return (await shared.fetch()).status
    `)
    const uses = call(`
      while (!shared.over) await new Promise((later) => setTimeout(later, 5))
      await shared.turn.promise
      const outcome = await shared.fetch().then(() => 'worked', (error) => error.code)
      shared.over()
      return outcome
    `, 'bare')
    expect(await Promise.all([shares, uses])).toEqual([200, 'CapabilityDenied'])
  })
})
