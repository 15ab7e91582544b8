import type { LocalServerConfig } from '../validation/local-servers.ts'

/** The home of Bulkhead, at the start of a word of a command or of a granted path. So a home can be moved. */
const HOME = '{home}'

const isHomePath = (text: string): boolean => text === HOME || text.startsWith(`${HOME}/`)

const pathsOf = ({ command, requires: { fs } = {} }: LocalServerConfig): readonly string[] =>
  [...command, ...fs?.read ?? [], ...fs?.write ?? []]

export const usesHome = (server: LocalServerConfig): boolean => pathsOf(server).some(isHomePath)

/** The server with absolute paths. `home`: its absolute path. */
export const withHome = <Server extends LocalServerConfig>(server: Server, home: string): Server =>
  mapPaths(server, (text) => isHomePath(text) ? home + text.slice(HOME.length) : text)

/** The reverse, for an entry that is written into a configuration. */
export const withHomeVariable = <Server extends LocalServerConfig>(server: Server, home: string): Server =>
  mapPaths(server, (text) => text === home || text.startsWith(`${home}/`) ? HOME + text.slice(home.length) : text)

function mapPaths<Server extends LocalServerConfig>(server: Server, change: (text: string) => string): Server {
  const { command, requires } = server
  const { fs } = requires ?? {}
  return {
    ...server, command: command.map(change),
    ...(requires && fs && {
      requires: {
        ...requires,
        fs: { ...fs, ...(fs.read && { read: fs.read.map(change) }), ...(fs.write && { write: fs.write.map(change) }) },
      },
    }),
  }
}
