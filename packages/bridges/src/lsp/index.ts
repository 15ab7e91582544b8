export { ConfiguredLanguageServers, type LanguageServersOptions } from './language-servers.ts'
