export { pageCode } from './bundle/page.ts'
export type * from './protocol.ts'
