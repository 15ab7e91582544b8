import { attacksOf, returned } from '../model/case.ts'

/** Attacks through the ordinary globals and modules that exist over `runtime`. Nothing but the broker decides. */
const alone = { alone: true, control: 'none' } as const
const [byPath, writing, network, processes, globals, lifecycle] =
  (['A', 'D', 'F', 'G', 'K', 'P'] as const).map((section) => attacksOf(section, alone))

const DENIED = 'CapabilityDenied'
const ABSENT = 'BuiltinDenied'

export const shims = [
  byPath!(380, 'reads paths outside the grant, through node:fs', `
    const { default: fs, promises } = await import('node:fs')
    const read = (path) => attempt(() => promises.readFile(path, 'utf8'))
    const withCallback = (path) => attempt(() => new Promise((resolve, reject) =>
      fs.readFile(path, 'utf8', (error, text) => error ? reject(error) : resolve(text))))
    const secret = facts.outside + '/secret.txt'
    return {
      granted: typeof (await promises.readdir('own')).length,
      absolute: await read(secret), url: await read(new URL('file://' + secret)),
      bytes: await read(Buffer.from(secret)), callback: await withCallback(secret),
      above: await read('../outside/secret.txt'), through: await read('own/../secret.txt'),
      named: await read('/workspace/../outside/secret.txt'), namedThrough: await read('/workspace/own/../secret.txt'),
      twice: await read('/workspace//workspace/../../secret.txt'), link: await read('own/rel-file'),
      list: await attempt(() => promises.readdir(facts.outside)), stat: await attempt(() => promises.stat(secret)),
      access: await attempt(() => promises.access(secret)), sync: await attempt(() => fs.statSync(secret)),
      object: await attempt(() => promises.readFile({ toString: () => secret })),
      other: await attempt(() => fs.createReadStream(secret)),
    }
  `, {
    granted: 'number', absolute: DENIED, url: DENIED, bytes: DENIED, callback: DENIED, above: DENIED, through: DENIED,
    named: DENIED, namedThrough: DENIED, twice: DENIED, link: DENIED, list: DENIED, stat: DENIED, access: DENIED,
    sync: ABSENT, object: 'TypeError', other: ABSENT,
  }),
  writing!(381, 'writes outside the grant, through node:fs', `
    const { writeFile, mkdir, rm } = await import('node:fs/promises')
    return {
      granted: await attempt(() => writeFile('own/out/shim.txt', 'x')),
      write: await attempt(() => writeFile(facts.outside + '/secret.txt', 'x')),
      above: await attempt(() => writeFile('/workspace/own/out/../../secret.txt', 'x')),
      folder: await attempt(() => mkdir(facts.outside + '/new', { recursive: true })),
      remove: await attempt(() => rm(facts.outside, { recursive: true, force: true })),
      removeAbove: await attempt(() => rm('own/out/..', { recursive: true })),
    }
  `, { granted: { got: null }, write: DENIED, above: DENIED, folder: DENIED, remove: DENIED, removeAbove: DENIED }),
  network!(382, 'reaches hosts outside the grant, through fetch', `
    const base = 'http://localhost:' + facts.grantedPort
    const other = 'http://127.0.0.1:' + facts.port
    const text = (input, init) => attempt(async () => (await fetch(input, init)).text())
    const changed = new Request(base)
    Object.defineProperty(changed, 'url', { value: other })
    return {
      granted: await attempt(async () => (await fetch(base)).status),
      other: await text(other), url: await text(new URL(other)), request: await text(new Request(other)),
      changed: await text(changed), redirect: await text(base + '/to-address'),
      metadata: await text('http://169.254.169.254/'), file: await text('file:///etc/passwd'),
      credentials: await text('http://a:b@localhost:' + facts.grantedPort),
      method: await text(base, { method: 'CONNECT' }),
      header: await text(base, { headers: { 'proxy-authorization': 'x' } }),
    }
  `, {
    granted: { got: 200 }, other: DENIED, url: DENIED, request: DENIED, changed: DENIED, redirect: DENIED,
    metadata: DENIED, file: DENIED, credentials: 'TypeError', method: 'InputInvalid', header: 'InputInvalid',
  }, { requires: { net: { hosts: ['localhost:$granted'] } } }),
  processes!(383, 'runs commands outside the grant, through node:child_process', `
    const { default: commands, execFile, spawn } = await import('node:child_process')
    const run = (...given) => attempt(() => new Promise((resolve, reject) =>
      execFile(...given, (error, stdout) => error ? reject(error) : resolve(stdout))))
    const start = (...given) => attempt(() => event(spawn(...given), 'exit'))
    return {
      granted: await run('echo', ['a']), cat: await run('cat', [facts.outside + '/secret.txt']),
      path: await run('/bin/cat', []), spawn: await start('cat', [facts.outside + '/secret.txt']),
      arguments: await run('echo', ['a', 'b']), shell: await run('echo', ['a'], { shell: true }),
      inherit: await start('echo', ['a'], { stdio: 'inherit' }),
      folder: await run('echo', ['a'], { cwd: facts.outside }),
      exec: await attempt(() => commands.exec('cat /etc/passwd')), fork: await attempt(() => commands.fork('x.js')),
      sync: await attempt(() => commands.execFileSync('cat')),
    }
  `, {
    granted: { got: 'a\n' }, cat: DENIED, path: DENIED, spawn: DENIED, arguments: DENIED, shell: 'InputInvalid',
    inherit: 'InputInvalid', folder: DENIED, exec: ABSENT, fork: ABSENT, sync: ABSENT,
  }, { requires: { shell: [{ cmd: 'echo', args: [{ wildcard: true }] }] } }),
  globals!(384, 'reads variables that the manifest does not declare, through process.env', `
    const { default: imported } = await import('node:process')
    return {
      names: Object.keys(process.env), declared: typeof process.env.DECLARED, canary: typeof process.env.CANARY,
      imported: typeof imported.env.CANARY, same: imported === process, path: typeof process.env.PATH,
      set: await attempt(() => { 'use strict'; process.env.CANARY = 'x' }),
      define: await attempt(() => Object.defineProperty(process.env, 'DECLARED', { value: 'x' })),
      prototype: Object.getPrototypeOf(process.env),
    }
  `, {
    names: ['DECLARED'], declared: 'undefined', canary: 'undefined', imported: 'undefined', same: true,
    path: 'undefined', set: 'TypeError', define: 'TypeError', prototype: null,
  }),
  globals!(385, 'changes members and prototypes of shims', `
    const { default: fs } = await import('node:fs')
    const members = globalThis[Symbol.for('bulkhead.shims')]
    const other = 'http://127.0.0.1:' + facts.port
    const outcome = {
      module: await attempt(() => { fs.readFile = () => 'x'; return fs.readFile() }),
      members: await attempt(() =>
        Object.defineProperty(globalThis, Symbol.for('bulkhead.shims'), { value: () => fs })),
      unknown: await attempt(() => members('vm') && 'there'),
      inherited: await attempt(() => members('__proto__') && 'there'),
    }
    Headers.prototype[Symbol.iterator] = function* () { yield ['x-other', 'x'] }
    Request.prototype.url = other
    Object.defineProperty(Response.prototype, 'ok', { get: () => true })
    globalThis.URL = class { static parse = () => ({ href: other, username: '', password: '' }) }
    outcome.fetch = await attempt(async () => (await fetch(other)).text())
    outcome.moved = await attempt(async () => (await fetch('http://localhost:' + facts.grantedPort)).text())
    return outcome
  `, {
    module: 'TypeError', members: 'TypeError', unknown: { got: null }, inherited: { got: null },
    fetch: DENIED, moved: { got: 'granted' },
  }, { requires: { fs: { read: ['own/**'] }, net: { hosts: ['localhost:$granted'] } } }),
  lifecycle!(386, 'uses shims after their call has ended', `
    const { readFile } = await import('node:fs/promises')
    if (globalThis.late !== undefined) return { late: await globalThis.late }
    const { status } = await fetch('http://localhost:' + facts.grantedPort)
    globalThis.late = new Promise((done) => setTimeout(async () => done([
      await attempt(() => readFile('own/note.txt', 'utf8')),
      await attempt(async () => (await fetch('http://localhost:' + facts.grantedPort)).text()),
    ]), 200))
    return { first: status }
  `, [['call', returned({ first: 200 })], ['call', returned({ late: [DENIED, DENIED] })]], {
    requires: { fs: { read: ['own/**'] }, net: { hosts: ['localhost:$granted'] } },
  }),
]
