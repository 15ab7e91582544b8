export type { Offered } from '../connected/entries.ts'
export { OpenapiDocuments, type OpenapiDocumentsOptions } from './documents.ts'
export { documentThread } from './reading/document-thread.ts'
