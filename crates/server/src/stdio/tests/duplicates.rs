//! Two requests in flight with one id.

use super::conversation::{Conversation, code, id, waiting};
use crate::stdio::StdioLimits;

#[tokio::test(start_paused = true)]
async fn the_second_request_with_an_id_in_flight_is_refused_and_the_first_is_answered() {
    let mut client = Conversation::start(StdioLimits { calls: 1, ..StdioLimits::default() });
    client.send(&waiting("1", 100)).await;
    client.send(&waiting("2", 100)).await;
    // One runs, the other waits for a place; each is in flight, however its id is written.
    for text in ["1", "1.0", "2"] {
        client.send(&waiting(text, 100)).await;
        let refused = client.receive().await;
        assert_eq!((id(&refused), code(&refused)), (text, Some(-32600)));
    }
    client.send(&waiting("\"1\"", 100)).await;
    for text in ["1", "2", "\"1\""] {
        let answer = client.receive().await;
        assert_eq!((id(&answer), code(&answer)), (text, None));
    }
    client.send(&waiting("1", 1)).await;
    assert_eq!(code(&client.receive().await), None);
    assert!(client.end().await.is_empty());
}
