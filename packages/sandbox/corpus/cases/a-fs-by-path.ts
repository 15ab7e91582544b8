import { attacksOf } from '../model/case.ts'

const attack = attacksOf('A')

/** Reads a path with `node:fs` and through the broker. */
const both = (path: string, named = path): string => `
  const fs = async () => reach('fs')
  return {
    ambient: await attempt(async () => (await fs()).readFileSync(${path}, 'utf8')),
    broker: await attempt(() => runtime.fs.readText(${named})),
  }
`
const DENIED = { ambient: 'BuiltinDenied', broker: 'CapabilityDenied' }

export const fsByPath = [
  attack(1, 'reads a file by an absolute path, with every call that reads', `
    const path = facts.outside + '/secret.txt'
    const fs = await library('fs')
    const promises = await library('fs/promises')
    return {
      readFileSync: await attempt(() => fs.readFileSync(path, 'utf8')),
      readFile: await attempt(() => promises.readFile(path, 'utf8')),
      open: await attempt(async () => (await promises.open(path)).readFile('utf8')),
      stream: await attempt(async () => (await fs.createReadStream(path).toArray()).join('')),
      stat: await attempt(() => fs.statSync(path).size),
      lstat: await attempt(() => fs.lstatSync(path).size),
      readdir: await attempt(() => fs.readdirSync(facts.outside).join()),
      opendir: await attempt(() => fs.opendirSync(facts.outside).readSync().name),
      access: await attempt(() => fs.accessSync(path)),
      copy: await attempt(() => fs.copyFileSync(path, facts.work + '/own/copy')),
      watch: await attempt(() => fs.watch(path).close()),
      statfs: await attempt(() => fs.statfsSync(path).type),
      broker: await attempt(() => runtime.fs.readText(path)),
      brokerBytes: await attempt(() => runtime.fs.read(path)),
      brokerList: await attempt(() => runtime.fs.list(facts.outside)),
      brokerStat: await attempt(() => runtime.fs.stat(path)),
      brokerWatch: await attempt(() => runtime.fs.watch(facts.outside)[Symbol.asyncIterator]().next()),
    }
  `, {
    readFileSync: 'BuiltinDenied', readFile: 'CapabilityDenied', open: 'BuiltinDenied', stream: 'BuiltinDenied',
    stat: 'BuiltinDenied',
    lstat: 'BuiltinDenied', readdir: 'BuiltinDenied', opendir: 'BuiltinDenied', access: 'BuiltinDenied',
    copy: 'BuiltinDenied',
    watch: 'BuiltinDenied', statfs: 'BuiltinDenied', broker: 'CapabilityDenied', brokerBytes: 'CapabilityDenied',
    brokerList: 'CapabilityDenied', brokerStat: 'CapabilityDenied', brokerWatch: 'CapabilityDenied',
  }),
  attack(2, 'reads a file by a path that climbs with ..', both(
    "facts.work + '/own/../../outside/secret.txt'", "'own/../../outside/secret.txt'",
  ),
    DENIED),
  attack(3, 'passes a path as a Buffer', both("Buffer.from(facts.outside + '/secret.txt')"),
    { ambient: 'BuiltinDenied', broker: 'InputInvalid' }),
  attack(4, 'passes a path as a Uint8Array', both(
    "new Uint8Array(Buffer.from(facts.work + '/own/../../outside/secret.txt'))",
  ), {
    ambient: 'BuiltinDenied', broker: 'InputInvalid',
  }),
  attack(5, 'passes a URL with encoded dots as a path', `
    const url = new URL('file://' + facts.work + '/own/a/%2e%2e/%2e%2e/%2e%2e/outside/secret.txt')
    return {
      ambient: await attempt(async () => (await reach('fs')).readFileSync(url, 'utf8')),
      object: await attempt(() => runtime.fs.readText(url)),
      text: await attempt(() => runtime.fs.readText(url.href)),
      dots: await attempt(() => runtime.fs.readText('own/%2e%2e/%2e%2e/outside/secret.txt')),
      slash: await attempt(() => runtime.fs.readText('own/..%2f..%2foutside%2fsecret.txt')),
      back: await attempt(() => runtime.fs.readText('own/..\\\\..\\\\outside\\\\secret.txt')),
    }
  `, {
    ambient: 'BuiltinDenied', object: 'CapabilityDenied', text: 'CapabilityDenied', dots: 'NotFound', slash: 'NotFound',
    back: 'NotFound',
  }),
  attack(6, 'puts a NUL into a path', `
    const path = facts.outside + '/secret.txt\\0/own/hello.txt'
    return {
      ambient: await attempt(async () => (await reach('fs')).readFileSync(path, 'utf8')),
      broker: await attempt(() => runtime.fs.readText(path)),
      inside: await attempt(() => runtime.fs.readText('own/hello.txt\\0../../outside/secret.txt')),
    }
  `, { ambient: 'BuiltinDenied', broker: 'InputInvalid', inside: 'InputInvalid' }, { control: 'inert' }),
  attack(7, 'reads the environment of the process', both("'/proc/self/environ'"), DENIED),
  attack(8, 'reads the memory of the process', `
    const fs = async () => reach('fs')
    return {
      ambient: await attempt(async () => {
        const { openSync, readSync, readFileSync } = await fs()
        const [range] = readFileSync('/proc/self/maps', 'utf8').split(/\\s/)
        const bytes = Buffer.alloc(4)
        readSync(openSync('/proc/self/mem', 'r'), bytes, 0, 4, Number.parseInt(range, 16))
        return bytes
      }),
      maps: await attempt(() => runtime.fs.readText('/proc/self/maps')),
      broker: await attempt(() => runtime.fs.read('/proc/self/mem', { start: 4096, end: 8192 })),
    }
  `, { ambient: 'BuiltinDenied', maps: 'CapabilityDenied', broker: 'CapabilityDenied' }),
  attack(9, 'opens a descriptor of the process in /proc/self/fd', both("'/proc/self/fd/' + facts.fds.secret"), DENIED),
  attack(10, 'opens a descriptor of the process in /dev/fd', both("'/dev/fd/' + facts.fds.secret"), DENIED),
  attack(11, 'reads the working folder of the host, which Node grants silently', `
    const fs = async () => reach('fs')
    return {
      ambient: await attempt(async () => (await fs()).readFileSync(facts.cwd + '/secret.txt', 'utf8')),
      relative: await attempt(async () => (await fs()).readFileSync('./secret.txt', 'utf8')),
      list: await attempt(async () => (await fs()).readdirSync('.').join()),
      broker: await attempt(() => runtime.fs.readText(facts.cwd + '/secret.txt')),
      cwd: await attempt(() => {
        // A child process has the root as its working folder.
        if (['/', '/workspace'].includes(process.cwd())) throw { code: 'no real path' }
        return process.cwd()
      }),
    }
  `, {
    ambient: 'BuiltinDenied', relative: 'BuiltinDenied', list: 'BuiltinDenied', broker: 'CapabilityDenied',
    cwd: 'no real path',
  }),
  attack(12, 'reads the folder above the granted one', `
    return {
      ambient: await attempt(async () => (await reach('fs')).readFileSync(facts.work + '/secret.txt', 'utf8')),
      file: await attempt(() => runtime.fs.readText('secret.txt')),
      list: await attempt(() => runtime.fs.list('.')),
      dots: await attempt(() => runtime.fs.list('own/..')),
      stat: await attempt(() => runtime.fs.stat('own/../secret.txt')),
    }
  `, {
    ambient: 'BuiltinDenied', file: 'CapabilityDenied', list: 'CapabilityDenied', dots: 'CapabilityDenied',
    stat: 'CapabilityDenied',
  }),
  attack(13, 'reads a sibling whose name starts with the name of the granted folder', both(
    "facts.work + '/ownx/secret.txt'",
  ), DENIED),
  attack(14, 'reads files with names similar to a granted one', `
    const names = ['exact', 'exact.txt.bak', 'exact-too.txt']
    return {
      ambient: await attempt(async () => (await reach('fs')).readFileSync(facts.work + '/exact.txt.bak', 'utf8')),
      broker: await Promise.all(names.map((name) => attempt(() => runtime.fs.readText(name)))),
      folder: await attempt(() => runtime.fs.readText('exact.txt/../secret.txt')),
      granted: (await runtime.fs.readText('exact.txt')).trim(),
    }
  `, {
    ambient: 'BuiltinDenied', broker: ['CapabilityDenied', 'CapabilityDenied', 'CapabilityDenied'],
    folder: 'CapabilityDenied',
    granted: 'fine',
  }),
  attack(15, 'uses glob patterns as paths', `
    return {
      ambient: await attempt(async () => {
        const found = (await reach('fs')).globSync(facts.outside + '/*')
        if (found.length === 0) throw { code: 'empty' }
        return found
      }),
      broker: await attempt(() => runtime.fs.glob('../outside/*')),
      absolute: await attempt(() => runtime.fs.glob(facts.outside + '/**')),
      path: await attempt(() => runtime.fs.readText('own/../*/secret.txt')),
      links: (await runtime.fs.glob('own/**/secret.txt')).filter((path) => !path.includes('first')),
    }
  `, {
    ambient: 'BuiltinDenied', broker: 'InputInvalid', absolute: 'InputInvalid', path: 'CapabilityDenied', links: [],
  }),
  attack(16, 'finds out whether a path exists by resolving it', `
    const there = facts.outside + '/secret.txt'
    const gone = facts.outside + '/nothing.txt'
    const differs = async (ask) => {
      const [first, second] = [await attempt(() => ask(there)), await attempt(() => ask(gone))]
      return JSON.stringify(first) === JSON.stringify(second) ? first : { got: [String(first), String(second)] }
    }
    return {
      realpath: await differs(async (path) => (await reach('fs')).realpathSync(path)),
      native: await differs(async (path) => (await reach('fs')).realpathSync.native(path)),
      findPackage: await differs(async (path) => (await reach('module')).findPackageJSON('x', path)),
      broker: await differs((path) => runtime.fs.readText(path)),
      stat: await differs((path) => runtime.fs.stat(path)),
      list: await differs((path) => runtime.fs.list(path)),
      link: await differs((path) => runtime.fs.readText(path === there ? 'own/rel-file' : 'own/chain-1/nothing.txt')),
    }
  `, {
    realpath: 'BuiltinDenied', native: 'TypeError', findPackage: 'BuiltinDenied', broker: 'CapabilityDenied',
    stat: 'CapabilityDenied', list: 'CapabilityDenied', link: 'CapabilityDenied',
  }),
  attack(17, 'finds out whether a path exists with other calls', `
    const found = async (exists) => {
      if (!exists) throw { code: 'denies all' }
      return exists
    }
    return {
      ambient: await attempt(async () => found((await reach('fs')).existsSync(facts.outside + '/secret.txt'))),
      writeThere: await attempt(() => runtime.fs.write(facts.outside + '/secret.txt', 'x')),
      writeGone: await attempt(() => runtime.fs.write(facts.outside + '/nothing/x.txt', 'x')),
      removeThere: await attempt(() => runtime.fs.remove(facts.outside + '/secret.txt')),
      removeGone: await attempt(() => runtime.fs.remove(facts.outside + '/nothing.txt')),
    }
  `, {
    ambient: 'BuiltinDenied', writeThere: 'CapabilityDenied', writeGone: 'CapabilityDenied',
    removeThere: 'CapabilityDenied',
    removeGone: 'CapabilityDenied',
  }),
  attack(18, 'reads an .env file and environment variables', `
    return {
      ambient: await attempt(() => {
        use(process, 'loadEnvFile')(facts.cwd + '/.env')
        return process.env.CANARY_FROM_FILE
      }),
      env: await attempt(() => use(process.env, 'CANARY')),
      undeclared: await attempt(() => runtime.env.get('CANARY')),
      declared: await attempt(() => runtime.env.get('DECLARED')),
      prototype: await attempt(() => runtime.env.get('__proto__')),
    }
  `, {
    ambient: 'absent', env: 'absent', undeclared: 'EnvNameUndeclared', declared: 'EnvNameNotSet',
    prototype: 'EnvNameUndeclared',
  }),
  attack(19, 'runs in a workspace whose name is a pattern', `
    const beside = facts.work.slice(0, -4) + 'wxrk/secret.txt'
    return {
      ambient: await attempt(async () => (await reach('fs')).readFileSync(beside, 'utf8')),
      broker: await attempt(() => runtime.fs.readText(beside)),
      climbing: await attempt(() => runtime.fs.readText('../wxrk/secret.txt')),
      own: (await runtime.fs.readText('own/hello.txt')).trim(),
    }
  `, { ambient: 'BuiltinDenied', broker: 'CapabilityDenied', climbing: 'CapabilityDenied', own: 'hello' }, {
    workspace: 'w*rk', requires: { fs: { read: ['**'] } },
  }),
  attack(20, 'runs in a workspace with a comma in its name', `
    const above = facts.work.slice(0, -4)
    return {
      ambient: await attempt(async () => (await reach('fs')).readFileSync(above + 'a/secret.txt', 'utf8')),
      first: await attempt(() => runtime.fs.readText(above + 'a/secret.txt')),
      second: await attempt(() => runtime.fs.readText(above + 'b/secret.txt')),
      own: (await runtime.fs.readText('own/hello.txt')).trim(),
    }
  `, { ambient: 'BuiltinDenied', first: 'CapabilityDenied', second: 'CapabilityDenied', own: 'hello' }, {
    workspace: 'a,b', requires: { fs: { read: ['own/**'] } },
  }),
]
