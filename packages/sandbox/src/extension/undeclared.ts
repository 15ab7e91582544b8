import { CodedError } from '../wire/errors.ts'

/**
 * The end of a prototype chain instead of `Object.prototype`: reading a part that was not granted throws an error that says what to
 * declare. For `in` and for loops the part is absent, and granted parts cost nothing.
 */
function undeclared(whole: string, cures: Readonly<Record<string, string>>): object {
  const byName = new Map(Object.entries(cures))
  return new Proxy({}, {
    get(target, name, reader) {
      const cure = typeof name === 'string' ? byName.get(name) : undefined
      if (cure === undefined) return Reflect.get(target, name, reader) as unknown
      const part = `${whole}.${String(name)}`
      throw new CodedError('CapabilityDenied', `\`${part}\` is not available, because nothing was granted for it. ${cure}`, { data: { undeclared: part } })
    },
  })
}

const FS_READ = 'Declare `requires.fs.read` with patterns of paths for the tool.'
const FS_WRITE = 'Declare `requires.fs.write` with patterns of paths for the tool.'

export const UNDECLARED_RUNTIME = undeclared('runtime', {
  fs: 'Declare `requires.fs` with patterns of paths to read or to write for the tool.',
  net: 'Declare `requires.net` with its hosts for the tool.',
  shell: 'Declare `requires.shell` with its commands for the tool.',
  env: 'Name the variable in `env` of the manifest.',
  secrets: 'Name the secret in `secrets` of the manifest.',
  state: 'Declare a `stateSlot` in the manifest.',
  interact: 'Declare "interact" in `requires.capabilities` of the tool.',
  tools: 'Declare "tools.call" in `requires.capabilities` of the tool.',
  session: 'Declare "session" in `requires.capabilities` of the tool.',
})

export const UNDECLARED_FILES = undeclared('runtime.fs', {
  read: FS_READ, readText: FS_READ, list: FS_READ, stat: FS_READ, glob: FS_READ, find: FS_READ, search: FS_READ, watch: FS_READ,
  write: FS_WRITE, edit: 'Declare `requires.fs.read` and `requires.fs.write` with patterns of paths for the tool.', remove: FS_WRITE,
})
