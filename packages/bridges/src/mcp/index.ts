export { McpServers, type McpServersOptions, type McpServerStatus, type Offered } from './connecting/servers.ts'
export type { ServerState } from './connecting/connection.ts'
export type { Surroundings } from './connecting/target.ts'
