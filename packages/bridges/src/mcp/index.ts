export { McpServers, type McpServersOptions, type McpServerStatus } from './connecting/servers.ts'
export { loadLateCode } from './connecting/servers.ts'
export type { ServerState } from './connecting/connection-state.ts'
export type { Surroundings } from './connecting/server-entry.ts'
export {
  serveTools, type ServedHost, type ServedSession, type ServeOptions, type Serving,
} from './serving/serve-tools.ts'
