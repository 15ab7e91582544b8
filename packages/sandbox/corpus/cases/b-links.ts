import { attacksOf } from '../model/case.ts'

const attack = attacksOf('B')

/** Reads and writes through a link in the granted folder, with `node:fs` and through the broker. */
const through = (link: string, file = ''): string => `
  const path = facts.work + '/own/${link}${file}'
  return {
    ambient: await attempt(async () => (await reach('fs')).readFileSync(path, 'utf8')),
    text: await attempt(() => runtime.fs.readText('own/${link}${file}')),
    bytes: await attempt(() => runtime.fs.read(path)),
    stat: await attempt(() => runtime.fs.stat(path)),
    list: await attempt(() => runtime.fs.list('own/${link}')),
    write: await attempt(() => runtime.fs.write('own/out/${link}${file}', 'x')),
  }
`
const HELD = {
  ambient: 'BuiltinDenied', text: 'CapabilityDenied', bytes: 'CapabilityDenied', stat: 'CapabilityDenied',
  list: 'CapabilityDenied',
}

export const links = [
  attack(21, 'reads a file through a relative link', through('rel-file'), { ...HELD, write: 'CapabilityDenied' }),
  attack(22, 'reads a file through an absolute link', `
    return {
      ambient: await attempt(async () => (await reach('fs')).readFileSync(facts.work + '/own/abs-file', 'utf8')),
      text: await attempt(() => runtime.fs.readText('own/abs-file')),
      range: await attempt(() => runtime.fs.readText('own/abs-file', { start: 0, end: 10 })),
      stat: await attempt(() => runtime.fs.stat('own/abs-file')),
    }
  `, { ambient: 'BuiltinDenied', text: 'CapabilityDenied', range: 'CapabilityDenied', stat: 'CapabilityDenied' }),
  attack(23, 'reads a folder through a relative link', through('rel-folder', '/secret.txt'), {
    ...HELD, write: 'CapabilityDenied',
  }),
  attack(24, 'reads a folder through an absolute link', `
    return {
      ambient: await attempt(async () =>
        (await reach('fs')).readFileSync(facts.work + '/own/abs-folder/secret.txt', 'utf8')),
      text: await attempt(() => runtime.fs.readText('own/abs-folder/secret.txt')),
      list: await attempt(() => runtime.fs.list('own/abs-folder')),
      dots: await attempt(() => runtime.fs.readText('own/abs-folder/../secret.txt')),
      slash: await attempt(() => runtime.fs.list('own/abs-folder/')),
    }
  `, {
    ambient: 'BuiltinDenied', text: 'CapabilityDenied', list: 'CapabilityDenied', dots: 'NotFound',
    slash: 'CapabilityDenied',
  }),
  attack(25, 'creates a hard link, or writes to a file that has another name', `
    return {
      ambient: await attempt(async () =>
        (await reach('fs')).linkSync(facts.outside + '/secret.txt', facts.work + '/own/made')),
      write: Object.keys(await runtime.fs.write('own/out/hard', 'written by the attacker')),
    }
  `, { ambient: 'BuiltinDenied', write: ['bytes', 'created'] }, { alone: true }),
  attack(26, 'reads a file through a chain of links', `
    return {
      ambient: await attempt(async () =>
        (await reach('fs')).readFileSync(facts.work + '/own/chain-1/secret.txt', 'utf8')),
      text: await attempt(() => runtime.fs.readText('own/chain-1/secret.txt')),
      deeper: await attempt(() => runtime.fs.readText('own/chain-1/folder/secret.txt')),
      list: await attempt(() => runtime.fs.list('own/chain-2/folder')),
      back: await attempt(() => runtime.fs.readText('own/chain-1/../work/own/chain-3/secret.txt')),
    }
  `, {
    ambient: 'BuiltinDenied', text: 'CapabilityDenied', deeper: 'CapabilityDenied', list: 'CapabilityDenied',
    back: 'NotFound',
  }),
  attack(27, 'replaces a folder by a link between the check and the read', `
    const tally = { read: 0, denied: 0, leaked: 0 }
    for (let tries = 0; tries < 4_000 && (tries < 200 || tally.read === 0 || tally.denied === 0); tries++) {
      const text = await runtime.fs.readText('own/flip/secret.txt').catch((error) => {
        if (error.code === 'CapabilityDenied') tally.denied++
        return ''
      })
      if (text.startsWith('nothing here')) tally.read++
      else if (text !== '') tally.leaked++
    }
    return {
      ambient: await attempt(async () => {
        const { readFileSync } = real(await reach('fs'))
        const path = (name) => facts.work + '/own/' + name + '/secret.txt'
        const read = (name) => { try { return readFileSync(path(name), 'utf8') } catch { return '' } }
        // The link alternates between both targets.
        for (let tries = 0; tries < 1_000; tries++) {
          const found = [read('second'), read('flip')].find((text) => text.startsWith('CANARY'))
          if (found !== undefined) return found
        }
        throw { code: 'never' }
      }),
      both: tally.read > 0 && tally.denied > 0,
      race: tally.leaked > 0 ? { got: tally.leaked } : 'held',
    }
  `, { ambient: 'shim', both: true, race: 'held' }, {
    alone: true, meanwhile: 'swaps a link', where: 'descriptor paths',
  }),
  attack(28, 'reaches the root of the file system through /proc', `
    const path = 'own/root' + facts.outside + '/secret.txt'
    return {
      ambient: await attempt(async () => (await reach('fs')).readFileSync(facts.work + '/' + path, 'utf8')),
      text: await attempt(() => runtime.fs.readText(path)),
      list: await attempt(() => runtime.fs.list('own/root')),
      cwd: await attempt(() => runtime.fs.readText('own/root/proc/self/cwd/secret.txt')),
      environ: await attempt(() => runtime.fs.readText('own/root/proc/self/environ')),
    }
  `, {
    ambient: 'BuiltinDenied', text: 'CapabilityDenied', list: 'CapabilityDenied', cwd: 'CapabilityDenied',
    environ: 'CapabilityDenied',
  }),
  attack(29, 'spells a granted name with other case, Unicode or spaces', `
    const names = ['OWN/hello.txt', 'Own/hello.txt', 'own\\u0301/hello.txt', '\\uff4fwn/hello.txt', 'own./hello.txt',
      'own /hello.txt', 'own\\u200b/hello.txt']
    return {
      ambient: await attempt(async () => (await reach('fs')).readFileSync(facts.work + '/ownx/../secret.txt', 'utf8')),
      broker: [...new Set(await Promise.all(names.map((name) => attempt(() => runtime.fs.readText(name)))))],
      write: [...new Set(await Promise.all(names.map((name) => attempt(() => runtime.fs.write(name, 'x')))))],
    }
  `, { ambient: 'BuiltinDenied', broker: ['CapabilityDenied'], write: ['CapabilityDenied'] }),
  attack(30, 'imports a file through a link', `
    return {
      ambient: await attempt(async () => (await import('file://' + facts.work + '/own/chain-3/secret.txt',
        { with: { type: 'text' } })).default),
      absolute: await attempt(() => import(facts.outside + '/secret.txt')),
      relative: await attempt(() => import('./rel-folder/secret.js')),
      climbing: await attempt(() => import('../../../../' + facts.outside + '/secret.js')),
    }
  `, { ambient: 'ModuleNotFound', absolute: 'ModuleNotFound', relative: 'ModuleNotFound', climbing: 'ModuleNotFound' }),
]
