export { serveTools, type ServedHost, type ServedSession, type ServeOptions, type Serving } from './serving/serve-tools.ts'
