/** The few parts of autocannon, which has no types, that bench/load.ts uses. */
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
