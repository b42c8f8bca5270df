/** Types for the parts of autocannon that bench/load.ts uses. The package has no types. */
declare module 'autocannon' {
  interface Options {
    url: string
    connections: number
    duration: number
    overallRate?: number
    setupClient(client: { setRequests(requests: object[]): void }): void
  }
  interface Result {
    errors: number
    timeouts: number
    non2xx: number
    '2xx': number
    duration: number
  }
  interface Instance extends PromiseLike<Result> {
    on(
      event: 'response',
      listener: (client: unknown, status: number, bytes: number, ms: number) => void,
    ): Instance
  }
  export default function autocannon(options: Options): Instance
}
