export { pageCode } from './bundle/page.ts'
export type * from './protocol.ts'
export { capturedCall } from './server/calls/capture.ts'
export type {
  CapturedOutcome, Inspected, MadeOutcome, ObservedUse, OpenQuestion, QuestionAnswer, QuestionChange, QuestionSource,
} from './server/inspected.ts'
export { createInspectorServer, type InspectorServer, type InspectorServerOptions } from './server/inspector-server.ts'
export { listen, type Listening, type ListenOptions } from './server/listen.ts'
